//! Which GPU and which PTX version is a lowering for?

use std::fmt;
use std::str::FromStr;

use crate::KeyError;

/// The letter after the number of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Variant {
    /// No letter: runs on this compute capability and later ones.
    Base,
    /// `a`, architecture-specific: runs on this compute capability alone.
    ArchSpecific,
    /// `f`, family-specific: runs on later members of the same family.
    FamilySpecific,
}

/// A PTX target such as `sm_90`, `sm_90a` or `sm_100f`.
///
/// Any number of two to four digits can be read. The emitter and the assembler say whether a
/// target exists.
///
/// ```
/// let target: ptx_key::Target = "sm_90a".parse()?;
/// assert_eq!((target.number, target.to_string()), (90, "sm_90a".to_owned()));
/// # Ok::<(), ptx_key::KeyError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// Ten times the major compute capability plus the minor: 90 for `sm_90a`.
    pub number: u16,
    /// The letter after the number.
    pub variant: Variant,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.variant {
            Variant::Base => "",
            Variant::ArchSpecific => "a",
            Variant::FamilySpecific => "f",
        };
        f.pad(&format!("sm_{}{letter}", self.number))
    }
}

impl FromStr for Target {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let unknown = || KeyError::UnknownTarget { text: text.to_owned() };
        let rest = text.strip_prefix("sm_").ok_or_else(unknown)?;
        let (digits, variant) = if let Some(digits) = rest.strip_suffix('a') {
            (digits, Variant::ArchSpecific)
        } else if let Some(digits) = rest.strip_suffix('f') {
            (digits, Variant::FamilySpecific)
        } else {
            (rest, Variant::Base)
        };
        let number = decimal(digits).filter(|number| (10..=9999).contains(number));
        Ok(Self { number: number.ok_or_else(unknown)?, variant })
    }
}

/// A version of the PTX instruction set, as in `.version 8.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PtxIsa {
    /// The number before the dot.
    pub major: u16,
    /// The number after the dot.
    pub minor: u16,
}

impl PtxIsa {
    /// Creates the version `major.minor`.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }
}

impl fmt::Display for PtxIsa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for PtxIsa {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let parsed = text
            .split_once('.')
            .and_then(|(major, minor)| Some(Self::new(decimal(major)?, decimal(minor)?)));
        parsed.ok_or_else(|| KeyError::NotIsaVersion { text: text.to_owned() })
    }
}

/// Reads decimal digits with no sign and no leading zero, so that each number has one spelling.
fn decimal(digits: &str) -> Option<u16> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let one_spelling = digits == "0" || !digits.starts_with('0');
    (plain && one_spelling).then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests;
