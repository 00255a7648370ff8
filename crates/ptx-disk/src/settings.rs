//! Settings that whoever runs a program can give it in environment variables.

use std::env;
use std::ffi::OsString;
use std::time::Duration;

use crate::{Compression, Config, DiskError};

const SIZE: &str = "give a number of bytes, such as 512M, 4GiB or 1048576";
const COUNT: &str = "give a number of entries, such as 200000";
const DAYS: &str = "give a number of days, such as 90";
const LEVEL: &str = "give off, or a level of zstd such as 1";

/// Changes `config` as the environment says.
pub(crate) fn apply(config: &mut Config) -> Result<(), DiskError> {
    apply_from(config, |name| env::var_os(name))
}

fn apply_from(
    config: &mut Config,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<(), DiskError> {
    let read = Reader(variable);
    read.set("PTX_CACHE_BYTES", SIZE, size, &mut config.budget.bytes)?;
    read.set("PTX_CACHE_ENTRIES", COUNT, number, &mut config.budget.entries)?;
    read.set("PTX_CACHE_DAYS", DAYS, days, &mut config.longest_unused)?;
    read.set("PTX_CACHE_FREE_BYTES", SIZE, size, &mut config.free_bytes)?;
    read.set("PTX_CACHE_ENTRY_BYTES", SIZE, size, &mut config.most_entry_bytes)?;
    read.set("PTX_CACHE_COMPRESSION", LEVEL, compression, &mut config.compression)
}

struct Reader<F>(F);

impl<F: Fn(&str) -> Option<OsString>> Reader<F> {
    /// Sets `field` where the variable is set.
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
    // `parse` alone would take a sign.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Bytes; K, M, G and T, also written KiB and so on, are powers of 1,024.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str, value: &str) -> Result<Config, DiskError> {
        let mut config = Config::new("/store");
        apply_from(&mut config, |asked| (asked == name).then(|| value.into()))?;
        Ok(config)
    }

    #[test]
    fn sizes_are_numbers_with_a_unit() {
        for (value, bytes) in [
            ("0", 0),
            ("1048576", 1 << 20),
            ("12 b", 12),
            ("7k", 7 << 10),
            ("512M", 512 << 20),
            ("4GiB", 4 << 30),
            (" 2 TiB ", 2 << 40),
        ] {
            assert_eq!(with("PTX_CACHE_BYTES", value).unwrap().budget.bytes, bytes, "{value}");
        }
    }

    #[test]
    fn every_setting_reaches_its_field() {
        assert_eq!(with("PTX_CACHE_ENTRIES", "5").unwrap().budget.entries, 5);
        let days = with("PTX_CACHE_DAYS", "2").unwrap().longest_unused;
        assert_eq!(days, Duration::from_secs(2 * 24 * 60 * 60));
        assert_eq!(with("PTX_CACHE_FREE_BYTES", "3G").unwrap().free_bytes, 3 << 30);
        assert_eq!(with("PTX_CACHE_ENTRY_BYTES", "1M").unwrap().most_entry_bytes, 1 << 20);
        let level = |value| with("PTX_CACHE_COMPRESSION", value).unwrap().compression;
        assert_eq!(level("off"), Compression::Off);
        assert_eq!(level("-3"), Compression::Zstd { level: -3 });
    }

    #[test]
    fn what_is_not_set_stays() {
        let config = with("PTX_CACHE_OTHER", "nonsense").unwrap();
        let standard = Config::new("/store");
        let times = |config: &Config| (config.longest_unused, config.free_bytes);
        assert_eq!((config.budget, times(&config)), (standard.budget, times(&standard)));
        assert_eq!(config.compression, Compression::default());
    }

    #[test]
    fn a_value_that_does_not_parse_is_an_error_that_names_the_setting() {
        let wrong = ["", " ", "many", "-1", "+1", "1.5G", "4GB", "G", "ib", "99999999999T", "1 2"];
        for name in ["PTX_CACHE_BYTES", "PTX_CACHE_FREE_BYTES", "PTX_CACHE_ENTRY_BYTES"] {
            for value in wrong {
                let said = with(name, value).unwrap_err().to_string();
                assert!(said.contains(&format!("{name}=`{value}`")), "{said}");
                assert!(said.contains("512M"), "{said}");
            }
        }
        for (name, value) in [
            ("PTX_CACHE_ENTRIES", "5k"),
            ("PTX_CACHE_DAYS", "two"),
            ("PTX_CACHE_DAYS", "18446744073709551615"),
            ("PTX_CACHE_COMPRESSION", "on"),
            ("PTX_CACHE_COMPRESSION", ""),
        ] {
            let said = with(name, value).unwrap_err().to_string();
            assert!(said.contains(name) && said.contains(value), "{said}");
        }
    }
}
