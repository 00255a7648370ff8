use std::collections::HashMap;

use super::*;

fn find(explicit: Option<&str>, variables: &[(&str, &str)]) -> Result<Location, DiskError> {
    let variables: HashMap<_, _> = variables.iter().copied().collect();
    Location::find_among(
        explicit.map(Path::new),
        |name| variables.get(name).map(OsString::from),
        || Some(PathBuf::from("/home/someone/.cache")),
    )
}

fn root(explicit: Option<&str>, variables: &[(&str, &str)]) -> PathBuf {
    find(explicit, variables).unwrap().root.unwrap()
}

#[test]
fn the_nearest_word_counts() {
    let all = [("PTX_CACHE_DIR", "/own"), ("XDG_CACHE_HOME", "/xdg")];
    assert_eq!(root(Some("/explicit"), &all), Path::new("/explicit"));
    assert_eq!(root(None, &all), Path::new("/own"));
    assert_eq!(root(None, &all[1..]), Path::new("/xdg/ptx"));
    assert_eq!(root(None, &[]), Path::new("/home/someone/.cache/ptx"));
}

#[test]
fn the_mode_is_a_word_of_three() {
    let mode = |word| find(None, &[("PTX_CACHE", word)]).map(|location| location.mode);
    assert_eq!(mode("off").unwrap(), Mode::Off);
    assert_eq!(mode("ro").unwrap(), Mode::ReadOnly);
    assert_eq!(mode("rw").unwrap(), Mode::ReadWrite);
    assert_eq!(find(None, &[]).unwrap().mode, Mode::ReadWrite);
    for wrong in ["", "no", "RW", "1"] {
        let message = mode(wrong).unwrap_err().to_string();
        assert_eq!(
            message,
            format!("the setting PTX_CACHE=`{wrong}` cannot be used: give off, ro or rw")
        );
    }
}

#[test]
fn empty_and_relative_paths_are_errors_that_name_the_variable() {
    for name in ["PTX_CACHE_DIR", "XDG_CACHE_HOME"] {
        for wrong in ["", ".", "cache", "./cache", "~/cache"] {
            let message = find(None, &[(name, wrong)]).unwrap_err().to_string();
            assert!(message.contains(name) && message.contains("absolute path"), "{message}");
        }
    }
    assert!(find(Some("cache"), &[]).is_err());
    assert!(find(Some(""), &[]).is_err());
}

#[test]
fn a_machine_without_a_home_has_no_location_and_that_is_no_error() {
    for platform in [None, Some(PathBuf::from("cache"))] {
        let location = Location::find_among(None, |_| None, || platform).unwrap();
        assert_eq!(location.root, None);
    }
}

#[test]
fn this_machine_has_one() {
    if let Ok(Location { root: Some(root), .. }) = Location::find(None) {
        assert!(root.is_absolute());
    }
}
