//! How the logs of `ptxas` 13.5 and of the driver are explained.

use super::*;

const TEXT: &str = "\
// lowered
.version 8.0
.target sm_90
.extern .func missing(.param .b32 a);
.visible .entry first() { ret; }
.visible .entry second()
{
    mov.b32 %r9, nosuch;
    call missing, (1);
}
";

fn refused(text: &str, code: Option<u32>, log: &str) -> Refused {
    let asked = Asked {
        assembler: "the CUDA driver 13.0".to_owned(),
        device: ComputeCapability { major: 9, minor: 0 },
        latest_isa: Some(PtxIsa::new(9, 0)),
    };
    let ptx = Ptx::new(text).unwrap();
    refused_ptx(asked, code.map(DriverCode), JitLog::new(log), &ptx)
}

#[test]
fn each_refusal_names_line_kernel_and_cure() {
    let late = TEXT.replace("8.0", "99.0");
    let other_device = TEXT.replace("sm_90", "sm_100a");
    for (text, code, log, reason, line, kernel, cure) in [
        (
            TEXT,
            Some(218),
            "ptxas application ptx input, line 8; error   : Unknown symbol 'nosuch'\n\
             ptxas fatal   : Ptx assembly aborted due to errors",
            Reason::InvalidPtx,
            Some(8),
            Some("second"),
            "fix the lowering at this line",
        ),
        (
            TEXT,
            Some(218),
            "ptxas application ptx input, line 10; fatal   : Parsing error near '': syntax error",
            Reason::EndsEarly,
            Some(10),
            Some("second"),
            "the text ends too early: lower again",
        ),
        (
            TEXT,
            Some(218),
            "ptxas application ptx input, line 10; fatal   : Parsing error near '.alig': syntax \
             error",
            Reason::EndsEarly,
            Some(10),
            Some("second"),
            "the text ends too early",
        ),
        (
            &late,
            Some(222),
            "",
            Reason::UnsupportedIsa,
            Some(2),
            None,
            "the text says .version 99.0: lower for PTX ISA 9.0, update the driver",
        ),
        (
            &late,
            None,
            "ptxas m.ptx, line 2; fatal   : Unsupported .version 99.0; current version is '9.5'",
            Reason::UnsupportedIsa,
            Some(2),
            None,
            "lower for PTX ISA 9.5",
        ),
        (
            &other_device,
            Some(209),
            "",
            Reason::WrongTarget,
            Some(3),
            None,
            "(sm_90), or a base target below it; sm_100a runs on that one architecture alone",
        ),
        (
            &other_device,
            Some(218),
            "",
            Reason::WrongTarget,
            Some(3),
            None,
            "lower for the device's architecture",
        ),
        (
            &other_device,
            None,
            "ptxas fatal   : SM version specified by .target is higher than default SM version \
             assumed",
            Reason::WrongTarget,
            Some(3),
            None,
            "lower for the device's architecture",
        ),
        (
            TEXT,
            None,
            "ptxas fatal   : Unresolved extern function 'missing'",
            Reason::UnresolvedSymbol { name: "missing".to_owned() },
            Some(4),
            None,
            "nothing defines `missing`",
        ),
        (TEXT, Some(2), "", Reason::OutOfMemory, None, None, "free device memory"),
        (TEXT, Some(221), "", Reason::NoCompiler, None, None, "libnvidia-ptxjitcompiler"),
        (TEXT, Some(719), "", Reason::Other, None, None, "compute-sanitizer"),
        (TEXT, Some(12_345), "", Reason::Other, None, None, "look the code up"),
    ] {
        let refused = refused(text, code, log);
        let context = format!("{refused}");
        assert_eq!(refused.reason, reason, "{context}");
        assert_eq!(refused.line, line, "{context}");
        assert_eq!(refused.kernel.as_deref(), kernel, "{context}");
        assert!(refused.cure().contains(cure), "{context}");
        assert!(context.contains(&refused.cure()), "{context}");
    }
}

#[test]
fn the_message_is_one_line_with_all_that_is_known() {
    let log = "ptxas application ptx input, line 8; error   : Unknown symbol 'nosuch'";
    assert_eq!(
        refused(TEXT, Some(218), log).to_string(),
        "the CUDA driver 13.0 refused the PTX of `second` at line 8, `mov.b32 %r9, nosuch;`: \
         Unknown symbol 'nosuch' (CUDA_ERROR_INVALID_PTX, code 218); it is for sm_90 in PTX ISA \
         8.0, the device is 9.0, the assembler knows PTX ISA up to 9.0; fix the lowering at this \
         line"
    );
}

/// A text is untrusted, and an error may end on a terminal.
#[test]
fn control_characters_of_a_text_do_not_reach_the_terminal() {
    let clears = "\u{1b}[2J";
    let text = TEXT.replace("mov", clears);
    let log = format!("ptxas application ptx input, line 8; error   : Illegal '{clears}'");
    let refused = refused(&text, Some(218), &log).to_string();
    assert!(refused.contains("[2J.b32 %r9") && refused.contains("Illegal"), "{refused:?}");
    let unread = Ptx::new(clears).unwrap_err().to_string();
    let unknown = crate::CudaError::NoFunction {
        name: clears.to_owned(),
        kernels: Some(vec![clears.to_owned()]),
    };
    for said in [refused, unread, unknown.to_string()] {
        assert!(!said.contains('\u{1b}'), "{said:?}");
    }
}

#[test]
fn a_refusal_of_ptxas_does_not_advise_to_update_the_driver() {
    let late = TEXT.replace("8.0", "99.0");
    let log = "ptxas m.ptx, line 2; fatal   : Unsupported .version 99.0; current version is '9.5'";
    let cure = refused(&late, None, log).cure();
    assert!(cure.ends_with("lower for PTX ISA 9.5, or assemble with a newer ptxas"), "{cure}");
}

#[test]
fn the_only_kernel_is_named_without_a_line() {
    let text = ".version 8.0\n.target sm_90\n.entry only() { ret; }\n";
    assert_eq!(refused(text, Some(2), "").kernel.as_deref(), Some("only"));
    assert_eq!(refused(text, Some(222), "").kernel.as_deref(), Some("only"));
}

#[test]
fn a_passing_refusal_is_not_permanent() {
    for (code, permanent) in [(218, true), (222, true), (209, true), (2, false), (999, false)] {
        assert_eq!(refused(TEXT, Some(code), "").is_permanent(), permanent, "{code}");
    }
}

proptest::proptest! {
    #[test]
    fn any_log_is_explained(log in "(?s).{0,120}", line in 0_u32.., code in 0_u32..1000) {
        let lined = format!("ptxas a, line {line}; error   : {log}");
        for log in [log.as_str(), lined.as_str()] {
            proptest::prop_assert!(!refused(TEXT, Some(code), log).to_string().is_empty());
        }
    }
}
