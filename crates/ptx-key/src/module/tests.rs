use std::collections::BTreeSet;

use crate::{
    Assembler, ComputeCapability, Digest, JitConfiguration, JitOptions, NamedValue, PtxKey,
};

fn base() -> JitConfiguration {
    JitConfiguration {
        compute_capability: ComputeCapability { major: 9, minor: 0 },
        assembler: Assembler::Driver { version: 13_000, build: None },
        options: JitOptions {
            optimization_level: Some(3),
            max_registers: Some(64),
            debug_info: false,
            line_info: false,
            named: [("a".to_owned(), NamedValue::Unsigned(1))].into(),
        },
    }
}

fn driver_build(build: &[u8]) -> Assembler {
    Assembler::Driver { version: 13_000, build: Some(Digest::of_bytes(build)) }
}

#[test]
fn only_a_driver_of_an_unknown_build_is_not_exact() {
    assert!(!Assembler::Driver { version: 13_000, build: None }.is_exact());
    assert!(driver_build(b"580.95.05").is_exact());
    assert!(Assembler::Tool { fingerprint: Digest::of_bytes(b"ptxas") }.is_exact());
}

#[test]
fn every_field_reaches_the_key() {
    let changes: [fn(&mut JitConfiguration); 15] = [
        |_| {},
        |it| it.compute_capability.major = 10,
        |it| it.compute_capability.minor = 1,
        |it| it.compute_capability = ComputeCapability { major: 0, minor: 9 },
        |it| it.assembler = Assembler::Driver { version: 13_010, build: None },
        |it| it.assembler = driver_build(b"580.65.06"),
        |it| it.assembler = driver_build(b"580.95.05"),
        |it| it.assembler = Assembler::Tool { fingerprint: Digest::of_bytes(b"ptxas") },
        |it| it.options.optimization_level = None,
        |it| it.options.optimization_level = Some(64),
        |it| it.options.max_registers = None,
        |it| it.options.debug_info = true,
        |it| it.options.line_info = true,
        |it| drop(it.options.named.insert("a".into(), 2_u64.into())),
        |it| drop(it.options.named.insert("b".into(), 1_u64.into())),
    ];
    let mut keys = BTreeSet::new();
    for change in changes {
        let mut configuration = base();
        change(&mut configuration);
        assert!(keys.insert(configuration.key_of_text("text")));
        assert!(keys.insert(configuration.key_of_lowering(&PtxKey::from_bytes([7; 32]))));
    }
    assert_eq!(keys.len(), 2 * changes.len());
}

#[test]
fn a_text_and_a_lowering_never_share_a_key() {
    let jit = base();
    assert_ne!(jit.key_of_text("a"), jit.key_of_text("b"));
    let lowering = |byte| jit.key_of_lowering(&PtxKey::from_bytes([byte; 32]));
    assert_ne!(lowering(1), lowering(2));
    // The 32 bytes of the text are also the bytes of the key.
    assert_ne!(jit.key_of_text(&"\u{1}".repeat(32)), lowering(1));
}
