//! Since which PTX ISA version does a target exist?

use ptx_key::{PtxIsa, Target, Variant};

use crate::LowerError;

/// A target's number, and the oldest ISA versions that know it, its variant `a` and its variant `f`.
///
/// Source: the table "PTX Release History" of NVIDIA's *PTX ISA* manual.
struct Row(u16, PtxIsa, Option<PtxIsa>, Option<PtxIsa>);

const fn isa(major: u16, minor: u16) -> PtxIsa {
    PtxIsa::new(major, minor)
}

const TARGETS: [Row; 15] = [
    Row(70, isa(6, 0), None, None),
    Row(72, isa(6, 1), None, None),
    Row(75, isa(6, 3), None, None),
    Row(80, isa(7, 0), None, None),
    Row(86, isa(7, 1), None, None),
    Row(87, isa(7, 4), None, None),
    Row(88, isa(9, 0), None, None),
    Row(89, isa(7, 8), None, None),
    Row(90, isa(7, 8), Some(isa(8, 0)), None),
    Row(100, isa(8, 6), Some(isa(8, 6)), Some(isa(8, 8))),
    Row(101, isa(8, 6), Some(isa(8, 6)), Some(isa(8, 8))),
    Row(103, isa(8, 8), Some(isa(8, 8)), Some(isa(8, 8))),
    Row(110, isa(9, 0), Some(isa(9, 0)), Some(isa(9, 0))),
    Row(120, isa(8, 7), Some(isa(8, 7)), Some(isa(8, 8))),
    Row(121, isa(8, 8), Some(isa(8, 8)), Some(isa(8, 8))),
];

/// The oldest PTX ISA version that knows `target`.
///
/// # Errors
///
/// [`LowerError::Target`] if the emitter does not know the target.
pub fn oldest_isa(target: Target) -> Result<PtxIsa, LowerError> {
    let row = TARGETS.iter().find(|row| row.0 == target.number);
    let oldest = row.and_then(|row| match target.variant {
        Variant::Base => Some(row.1),
        Variant::ArchSpecific => row.2,
        Variant::FamilySpecific => row.3,
    });
    oldest.ok_or_else(|| LowerError::Target { target, known: known() })
}

fn known() -> String {
    let names = TARGETS.iter().map(|Row(number, _, arch, family)| match (arch, family) {
        (None, _) => format!("sm_{number}"),
        (Some(_), None) => format!("sm_{number}[a]"),
        (Some(_), Some(_)) => format!("sm_{number}[a|f]"),
    });
    names.collect::<Vec<_>>().join(", ")
}
