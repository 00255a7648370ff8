//! Logs as each assembler writes them.

use super::*;

fn entry(severity: Severity, line: impl Into<Option<u32>>, message: &str) -> Diagnostic {
    Diagnostic { severity, line: line.into(), message: message.to_owned() }
}

/// Lines as `ptxas` 12.9 and 13.5 and the driver's linker write them.
#[test]
fn every_known_shape_is_read() {
    use Severity::{Error, Info, Warning};
    for (line, expected) in [
        (
            "ptxas application ptx input, line 12; error   : Unknown symbol 'x'",
            entry(Error, 12, "Unknown symbol 'x'"),
        ),
        (
            "ptxas /tmp/a, line 3; b.ptx, line 5; fatal   : Unsupported .version 99.0; current \
             version is '9.5'",
            entry(Error, 5, "Unsupported .version 99.0; current version is '9.5'"),
        ),
        (
            "ptxas fatal   : Unresolved extern function 'f'",
            entry(Error, None, "Unresolved extern function 'f'"),
        ),
        (
            "ptxas b.ptx, line 54; fatal   : Parsing error near '': syntax error",
            entry(Error, 54, "Parsing error near '': syntax error"),
        ),
        (
            "error   : Undefined reference to 'f' in 'input'",
            entry(Error, None, "Undefined reference to 'f' in 'input'"),
        ),
        (
            "ptxas warning : Unresolved extern variable 'g'",
            entry(Warning, None, "Unresolved extern variable 'g'"),
        ),
        ("ptxas info    : 0 bytes gmem", entry(Info, None, "0 bytes gmem")),
        ("tool: error: a : b", entry(Error, None, "a : b")),
    ] {
        let log = JitLog::new(line);
        assert_eq!(log.diagnostics().collect::<Vec<_>>(), [expected], "{line}");
    }
}

#[test]
fn what_is_no_entry_is_passed_over() {
    let log = JitLog::new("    0 bytes stack frame, 0 bytes spill stores\nnote: this\n\n");
    assert_eq!(log.diagnostics().count(), 0);
    assert!(!log.is_empty());
    assert!(JitLog::new(" \n\0").first_error().is_none());
}

#[test]
fn the_supported_isa_and_the_missing_symbol_are_found() {
    let late = "ptxas a, line 1; fatal   : Unsupported .version 99.0; current version is '9.5'";
    assert_eq!(JitLog::new(late).supported_isa(), Some(ptx_key::PtxIsa::new(9, 5)));
    let missing = "ptxas info : x\nptxas fatal   : Unresolved extern function 'f'";
    assert_eq!(JitLog::new(missing).unresolved_symbol().as_deref(), Some("f"));
    assert_eq!(JitLog::new("ptxas warning : Unresolved extern 'g'").unresolved_symbol(), None);
}

proptest::proptest! {
    #[test]
    fn any_log_is_read(text in "(?s).{0,200}", line in "\\PC{0,12}") {
        for log in [text.clone(), format!("a, line {line}; error : '{text}"),
                    format!("current version is '{line}'")] {
            let log = JitLog::new(log);
            let _ = (log.diagnostics().count(), log.supported_isa(), log.unresolved_symbol());
        }
    }
}
