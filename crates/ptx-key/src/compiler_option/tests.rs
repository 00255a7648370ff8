use crate::{CompilerOption, Digest, KeyError};

#[test]
fn an_option_that_reads_files_is_refused_and_the_error_says_what_to_do() {
    for refused in [
        CompilerOption::flag("-Iinclude"),
        CompilerOption::flag("--x=/abs"),
        CompilerOption::flag("/abs"),
        CompilerOption::with_value("-I", "include"),
        CompilerOption::with_value("-x", "sub/directory"),
        CompilerOption::with_value("-Xcompiler", "-O2 -Ix"),
        CompilerOption::with_value("-Xptxas", "-v,--options-file,x"),
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(error, KeyError::OptionNamesFiles { .. }), "{error}");
        assert!(error.to_string().contains("`CompilerOption::reading`"), "{error}");
    }
    let error = CompilerOption::with_value("-I", "include").unwrap_err().to_string();
    assert!(error.contains("`-I include`"), "{error}");
}

#[test]
fn a_word_that_is_not_an_option_is_refused() {
    for word in ["", "-", "64", "kernel", "O3"] {
        let error = CompilerOption::flag(word).unwrap_err();
        assert!(matches!(error, KeyError::NotAnOption { .. }), "{error}");
        assert!(error.to_string().contains(&format!("`{word}`")), "{error}");
    }
}

#[test]
fn an_option_keeps_its_name() {
    assert_eq!(CompilerOption::flag("--maxrregcount=64").unwrap().name(), "--maxrregcount=64");
    assert_eq!(
        CompilerOption::with_value("--maxrregcount", "64").unwrap().name(),
        "--maxrregcount"
    );
    assert_eq!(CompilerOption::reading("-I", Digest::of_bytes(b"")).name(), "-I");
}

#[test]
fn options_of_one_name_sort_flag_value_content() {
    let flag = CompilerOption::flag("-D").unwrap();
    let value = |text| CompilerOption::with_value("-D", text).unwrap();
    let content = CompilerOption::reading("-D", Digest::from_bytes([0; 32]));
    let sorted = [flag, value("A"), value("B"), content];
    assert!(sorted.is_sorted_by(|a, b| a < b));
}
