use super::*;

fn with(name: &str, value: &str) -> Result<Config, DiskError> {
    let mut config = Config::new("/store");
    config.set_from(|asked| (asked == name).then(|| value.into()))?;
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
