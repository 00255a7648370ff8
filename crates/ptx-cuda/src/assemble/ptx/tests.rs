//! Headers, kernels, and texts that are not PTX.

use ptx_key::{ComputeCapability, PtxIsa};

use super::*;

fn header(text: &str) -> Result<PtxHeader, String> {
    read_header(text).map_err(|error| error.to_string())
}

#[test]
fn a_header_is_read_after_comments() {
    let text = "/* a\nb */\n.version 8.7\n.target sm_100f, debug\n.address_size 64\n";
    let read = header(text).unwrap();
    assert_eq!(read.isa, PtxIsa::new(8, 7));
    assert_eq!((read.isa_line, read.target_line), (3, 4));
    assert_eq!(read.target.to_string(), "sm_100f");
    assert_eq!(read.address_size, Some(64));
    // It comes next or not at all: a long text is not searched for it.
    for behind in ["", ".entry a() {}\n.address_size 32"] {
        let text = format!(".version 8.7 .target sm_90\n{behind}");
        assert_eq!(header(&text).unwrap().address_size, None);
    }
}

#[test]
fn an_error_names_what_is_missing_and_its_line() {
    for (text, expected) in [
        ("", "line 1: expected `.version` with a value such as 9.0, found the end"),
        ("hello", "line 1: expected `.version` with a value such as 9.0, found `hello`"),
        ("\n.version x", "line 2: expected `.version` with a value such as 9.0, found `x`"),
        (".version 9.0\n.func", "line 2: expected `.target`"),
        ("// a\n// b\n.version 9.0\n", "line 3: expected `.target`"),
        ("// a\n.version", "line 2: expected `.version` with a value"),
        (".version 9.0\n.target nvptx", "found `nvptx`"),
    ] {
        let error = header(text).unwrap_err();
        assert!(error.contains(expected), "{text:?}: {error}");
    }
}

#[test]
fn a_nul_byte_is_refused_with_its_line() {
    let error = Ptx::new(".version 9.0\n.target sm_90\n\n\0").unwrap_err();
    assert!(error.to_string().contains("line 4"), "{error}");
}

#[test]
fn targets_run_where_the_isa_says() {
    let runs = |target: &str, major, minor| {
        let text = format!(".version 9.0\n.target {target}\n");
        read_header(&text).unwrap().runs_on(ComputeCapability { major, minor })
    };
    for (target, major, minor, expected) in [
        ("sm_80", 8, 0, true),
        ("sm_80", 9, 0, true),
        ("sm_80", 7, 5, false),
        ("sm_90a", 9, 0, true),
        ("sm_90a", 10, 0, false),
        ("sm_100", 9, 0, false),
        ("sm_100f", 10, 3, true),
        ("sm_100f", 12, 0, false),
        ("sm_103f", 10, 0, false),
        ("sm_120", 12, 1, true),
    ] {
        assert_eq!(runs(target, major, minor), expected, "{target} on {major}.{minor}");
    }
}

#[test]
fn functions_are_not_listed_as_kernels() {
    let text = ".version 9.0 .target sm_90 .func f(); .entry a() {} .visible .entry b() {}";
    let ptx = Ptx::new(text).unwrap();
    assert_eq!(ptx.kernels().collect::<Vec<_>>(), ["a", "b"]);
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(?s).{0,120}", version in "\\PC{0,8}") {
        let _ = Ptx::new(text.clone());
        let _ = Ptx::new(format!(".version {version}\n.target sm_{version}{text}"));
        let _ = Ptx::new(format!(".version 9.0\n.target sm_90\n{text}"));
    }
}
