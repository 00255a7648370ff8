//! Each way in which a text can be broken makes an error that names the line and the cure.

use ptx_cuda::{Context, CudaError, Ptx, Ptxas as Assembler, RecordingDriver};
use ptx_ir::{lower, reference};
use ptx_key::{ComputeCapability, JitOptions};
use ptx_tests::{Corpus, Ptxas};

use crate::cuda_stack::configuration;

const DEVICE: ComputeCapability = ComputeCapability { major: 9, minor: 0 };

/// A text that no assembler takes, and what the error must say.
pub(crate) struct Broken {
    pub(crate) what: &'static str,
    pub(crate) text: String,
    /// The line that must be named.
    pub(crate) line: u32,
    /// What must be said to be done.
    pub(crate) cure: &'static str,
}

/// Texts that are broken for `device`.
pub(crate) fn broken(device: ComputeCapability) -> Vec<Broken> {
    let whole = {
        let references = reference::all().unwrap();
        let reference =
            references.iter().find(|reference| reference.kernel.name == "matmul").unwrap();
        let target = format!("sm_{}{}", device.major, device.minor);
        lower(&reference.kernel, &configuration(&target, false)).unwrap()
    };
    let line_of = |text: &str, part: &str| {
        let line = text.lines().position(|line| line.contains(part)).unwrap();
        u32::try_from(line).unwrap() + 1
    };
    let header = |name: &str, value: &str| {
        let line = whole.lines().find(|line| line.starts_with(name)).unwrap();
        whole.replacen(line, &format!("{name} {value}"), 1)
    };
    let lines: Vec<_> = whole.lines().collect();
    let cut = lines[..lines.len() * 3 / 5].join("\n");
    let late = header(".version", "99.0");
    let foreign = if device.major == 9 { "sm_100a" } else { "sm_90a" };
    let other_device = header(".version", "8.6");
    let other_device = other_device.replacen(
        other_device.lines().find(|line| line.starts_with(".target")).unwrap(),
        &format!(".target {foreign}"),
        1,
    );
    let caller = format!(
        ".version 8.0\n.target sm_{}{}\n.address_size 64\n\n\
         .extern .func missing_function (.param .b32 a);\n\n\
         .visible .entry caller()\n{{\n    .param .b32 a;\n    st.param.b32 [a], 1;\n    \
         call missing_function, (a);\n    ret;\n}}\n",
        device.major, device.minor
    );
    let misspelt = caller.replace("st.param", "st.parm");
    vec![
        Broken {
            what: "cut off",
            line: u32::try_from(cut.lines().count()).unwrap(),
            text: cut,
            cure: "the text ends too early: lower again",
        },
        Broken {
            what: "version 99.0",
            line: line_of(&late, ".version"),
            text: late,
            cure: "lower for PTX ISA",
        },
        Broken {
            what: "another device's target",
            line: line_of(&other_device, ".target"),
            text: other_device,
            cure: "lower for the device's architecture",
        },
        Broken {
            what: "missing extern",
            line: line_of(&caller, "missing_function"),
            text: caller,
            cure: "nothing defines `missing_function`",
        },
        Broken {
            what: "unknown instruction",
            line: line_of(&misspelt, "st.parm"),
            text: misspelt,
            cure: "fix the lowering at this line",
        },
    ]
}

/// What an error lacks of what it must say. Prints a row of the table.
pub(crate) fn lacks(broken: &Broken, error: &CudaError) -> Option<&'static str> {
    println!("{:<24} {error}", broken.what);
    let said = error.to_string();
    let Some(refused) = error.refused() else { return Some("it is no refusal") };
    // An assembler that reads to the end of a cut text may name the line behind the last one.
    let may_be = [Some(broken.line), (broken.what == "cut off").then_some(broken.line + 1)];
    match refused.line {
        None => Some("no line"),
        Some(line) if !may_be.contains(&Some(line)) => Some("another line"),
        Some(line) if !said.contains(&format!("at line {line}")) => Some("the line in its words"),
        Some(_) if !said.contains(broken.cure) => Some("the cure"),
        Some(_) if !refused.is_permanent() => Some("that it will not pass"),
        Some(_) => None,
    }
}

fn assembler() -> Option<Assembler> {
    Some(Assembler::new(Ptxas::find()?.path()).unwrap())
}

#[test]
fn ptxas_refuses_and_the_error_names_line_and_cure() {
    let Some(ptxas) = assembler() else { return };
    for broken in broken(DEVICE) {
        let ptx = Ptx::new(broken.text.as_str()).unwrap();
        let error = ptxas.assemble(&ptx, DEVICE, &JitOptions::default()).unwrap_err();
        assert_eq!(lacks(&broken, &error), None);
    }
}

#[test]
fn what_the_header_says_is_refused_by_any_driver() {
    let driver = RecordingDriver::new();
    let context = Context::primary(&driver, 0).unwrap();
    for broken in &broken(DEVICE)[1..3] {
        let ptx = Ptx::new(broken.text.as_str()).unwrap();
        assert_eq!(lacks(broken, &context.load(&ptx.into()).unwrap_err()), None);
    }
}

#[test]
fn corpus_files_cut_anywhere_are_refused_with_a_line() {
    let (Some(ptxas), Some(corpus)) = (assembler(), Corpus::find()) else { return };
    let files = corpus.ptx_files().unwrap();
    let smallest = files.iter().min_by_key(|file| file.text.len()).unwrap();
    let whole = &smallest.text;
    // At 3 percent the header is whole, and PTX without kernels is PTX.
    for percent in [1, 10, 25, 50, 75, 90] {
        let cut = &whole[..whole.len() * percent / 100];
        let error = match Ptx::new(cut) {
            Ok(ptx) => ptxas.assemble(&ptx, DEVICE, &JitOptions::default()).unwrap_err(),
            Err(error) => error,
        };
        let said = error.to_string();
        println!("{percent:>2} % {said}");
        assert!(said.contains("line ") && said.contains("lower"), "{percent} %: {said}");
    }
}
