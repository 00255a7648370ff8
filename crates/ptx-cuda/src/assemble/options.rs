//! Which JIT options an assembler takes.

use ptx_key::{JitOptions, NamedValue};

use crate::CudaError;

const HIGHEST_LEVEL: u8 = 4;

/// Options of `ptxas` that read or write files, or that its caller sets. No key covers their
/// effect.
const NOT_OPTIONS: [&str; 5] =
    ["apply-controls", "gpu-name", "input-as-string", "options-file", "output-file"];

/// Refuses values that no assembler takes.
fn check_range(options: &JitOptions) -> Result<(), CudaError> {
    let level = options.optimization_level.filter(|level| *level > HIGHEST_LEVEL);
    level.map_or(Ok(()), |level| {
        Err(CudaError::UnsupportedOption {
            option: format!("optimization level {level}"),
            reason: "levels are 0 to 4",
        })
    })
}

/// Refuses options that the driver does not take: it would ignore them, and keys would still count
/// them.
pub(crate) fn check_for_driver(options: &JitOptions) -> Result<(), CudaError> {
    check_range(options)?;
    options.named.keys().next().map_or(Ok(()), |name| {
        Err(CudaError::UnsupportedOption {
            option: name.clone(),
            reason: "the driver takes no options by name; ptxas does",
        })
    })
}

/// The options as arguments of `ptxas`.
pub(crate) fn arguments(options: &JitOptions) -> Result<Vec<String>, CudaError> {
    check_range(options)?;
    let JitOptions { optimization_level, max_registers, debug_info, line_info, named } = options;
    let mut arguments = Vec::new();
    if let Some(level) = optimization_level {
        arguments.push(format!("--opt-level={level}"));
    }
    if let Some(registers) = max_registers {
        arguments.push(format!("--maxrregcount={registers}"));
    }
    if *debug_info {
        arguments.push("--device-debug".to_owned());
    }
    if *line_info {
        arguments.push("--generate-line-info".to_owned());
    }
    for (name, value) in named {
        arguments.push(named_argument(name, value)?);
    }
    Ok(arguments)
}

fn named_argument(name: &str, value: &NamedValue) -> Result<String, CudaError> {
    let unsupported = |reason| CudaError::UnsupportedOption { option: name.to_owned(), reason };
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-_,.".contains(c));
    if name.is_empty() || name.starts_with('-') || !plain(name) {
        return Err(unsupported("give the long name without dashes, such as fmad"));
    }
    if NOT_OPTIONS.contains(&name) {
        return Err(unsupported("the caller of ptxas decides it"));
    }
    match value {
        NamedValue::Bool(value) => Ok(format!("--{name}={value}")),
        NamedValue::Unsigned(value) => Ok(format!("--{name}={value}")),
        NamedValue::Signed(value) => Ok(format!("--{name}={value}")),
        NamedValue::Text(text) if text.is_empty() => Ok(format!("--{name}")),
        NamedValue::Text(text) if plain(text) => Ok(format!("--{name}={text}")),
        NamedValue::Text(_) => Err(unsupported("a value is letters, digits and -_,.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, value: impl Into<NamedValue>) -> JitOptions {
        JitOptions { named: [(name.to_owned(), value.into())].into(), ..JitOptions::default() }
    }

    #[test]
    fn options_become_arguments_of_ptxas() {
        let options = JitOptions {
            optimization_level: Some(4),
            max_registers: Some(64),
            debug_info: true,
            line_info: true,
            ..named("fmad", false)
        };
        let expected = [
            "--opt-level=4",
            "--maxrregcount=64",
            "--device-debug",
            "--generate-line-info",
            "--fmad=false",
        ];
        assert_eq!(arguments(&options).unwrap(), expected);
        assert_eq!(arguments(&named("verbose", "")).unwrap(), ["--verbose"]);
    }

    #[test]
    fn what_is_not_an_option_is_refused_by_name() {
        for options in [
            JitOptions { optimization_level: Some(5), ..JitOptions::default() },
            named("-o", "x"),
            named("output-file", "x"),
            named("options-file", "x"),
            named("dlcm", "/etc/passwd"),
            named("", true),
        ] {
            assert!(arguments(&options).is_err(), "{options:?}");
        }
        let error = check_for_driver(&named("fmad", false)).unwrap_err().to_string();
        assert!(error.contains("`fmad`"), "{error}");
        assert!(check_for_driver(&JitOptions::default()).is_ok());
    }
}
