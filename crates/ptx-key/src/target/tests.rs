use crate::{PtxIsa, Target, Variant};

#[test]
fn targets_parse_and_print() {
    for (text, number, variant) in [
        ("sm_70", 70, Variant::Base),
        ("sm_90a", 90, Variant::ArchSpecific),
        ("sm_100f", 100, Variant::FamilySpecific),
        ("sm_1000", 1000, Variant::Base),
    ] {
        let target: Target = text.parse().unwrap();
        assert_eq!(target, Target { number, variant });
        assert_eq!(target.to_string(), text);
    }
    assert_eq!(format!("[{:>8}]", Target { number: 90, variant: Variant::Base }), "[   sm_90]");
}

#[test]
fn other_texts_are_not_targets() {
    for text in [
        "",
        "sm_",
        "sm90",
        "SM_90",
        "sm_9",
        "sm_090",
        "sm_90b",
        "sm_90aa",
        "sm_90af",
        "sm_+90",
        "sm_90 ",
        "compute_90",
        "sm_99999",
        "sm_９0",
    ] {
        let error = text.parse::<Target>().unwrap_err().to_string();
        assert!(error.contains(&format!("`{text}`")) && error.contains("sm_90a"), "{error}");
    }
}

#[test]
fn isa_versions_parse_print_and_sort() {
    let version = |text: &str| text.parse::<PtxIsa>().unwrap();
    assert_eq!(version("8.0").to_string(), "8.0");
    assert!(version("8.10") > version("8.9") && version("10.0") > version("9.9"));
    for text in ["", "8", "8.", ".0", "8.0.1", "08.0", "8.00", "v8.0", "8,0", "-8.0"] {
        assert!(text.parse::<PtxIsa>().is_err(), "{text}");
    }
}
