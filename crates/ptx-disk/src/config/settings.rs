//! What does the environment say? Whoever runs a program sets these variables.

use std::ffi::OsString;
use std::time::Duration;

use crate::{Compression, DiskError};

const SIZE: &str = "give a number of bytes, such as 512M, 4GiB or 1048576";
const COUNT: &str = "give a number of entries, such as 200000";
const DAYS: &str = "give a number of days, such as 90";
const LEVEL: &str = "give off, or a level of zstd such as 1";

/// Reads variables of the environment. Tests give their own.
pub(super) struct Variables<F>(pub(super) F);

impl<F: Fn(&str) -> Option<OsString>> Variables<F> {
    pub(super) fn size(&self, name: &'static str, field: &mut u64) -> Result<(), DiskError> {
        self.set(name, SIZE, size, field)
    }

    pub(super) fn count(&self, name: &'static str, field: &mut u64) -> Result<(), DiskError> {
        self.set(name, COUNT, number, field)
    }

    pub(super) fn days(&self, name: &'static str, field: &mut Duration) -> Result<(), DiskError> {
        self.set(name, DAYS, days, field)
    }

    pub(super) fn compression(
        &self,
        name: &'static str,
        field: &mut Compression,
    ) -> Result<(), DiskError> {
        self.set(name, LEVEL, compression, field)
    }

    /// Sets `field` if the variable is set.
    fn set<T>(
        &self,
        name: &'static str,
        expected: &'static str,
        parse: fn(&str) -> Option<T>,
        field: &mut T,
    ) -> Result<(), DiskError> {
        let Some(value) = (self.0)(name) else { return Ok(()) };
        let value = value.to_string_lossy().into_owned();
        match parse(value.trim()) {
            Some(parsed) => *field = parsed,
            None => return Err(DiskError::BadSetting { name, value, expected }),
        }
        Ok(())
    }
}

fn number(text: &str) -> Option<u64> {
    // `parse` alone accepts a sign.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Parses bytes. K, M, G and T, also written KiB and so on, are powers of 1,024.
fn size(text: &str) -> Option<u64> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at_checked(digits)?;
    let unit = unit.trim_start().to_ascii_lowercase();
    let shift = match unit.strip_suffix("ib").unwrap_or(&unit) {
        "" if unit.is_empty() => 0,
        "b" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return None,
    };
    number(digits)?.checked_mul(1 << shift)
}

fn days(text: &str) -> Option<Duration> {
    const SECONDS: u64 = 24 * 60 * 60;
    number(text)?.checked_mul(SECONDS).map(Duration::from_secs)
}

fn compression(text: &str) -> Option<Compression> {
    match text {
        "off" => Some(Compression::Off),
        level => Some(Compression::Zstd { level: level.parse().ok()? }),
    }
}
