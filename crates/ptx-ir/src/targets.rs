//! What targets there are, and since which PTX ISA version.

use ptx_key::{PtxIsa, Target, Variant};

use crate::LowerError;

/// A target's number, the oldest ISA version that knows it, and the same for its variants.
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
    Row(103, isa(8, 8), Some(isa(8, 8)), Some(isa(8, 8))),
    Row(110, isa(9, 0), Some(isa(9, 0)), Some(isa(9, 0))),
    Row(120, isa(8, 7), Some(isa(8, 7)), Some(isa(8, 8))),
    Row(121, isa(8, 8), Some(isa(8, 8)), Some(isa(8, 8))),
    Row(101, isa(8, 6), Some(isa(8, 6)), Some(isa(8, 8))),
];

/// The oldest PTX ISA version that knows `target`.
///
/// # Errors
///
/// [`LowerError::Target`] for a target that this emitter does not know.
pub fn oldest_isa(target: Target) -> Result<PtxIsa, LowerError> {
    let row = TARGETS.iter().find(|row| row.0 == target.number());
    let oldest = row.and_then(|row| match target.variant() {
        Variant::Base => Some(row.1),
        Variant::ArchSpecific => row.2,
        Variant::FamilySpecific => row.3,
    });
    oldest.ok_or_else(|| LowerError::Target { target, known: known() })
}

fn known() -> String {
    let mut names: Vec<(u16, String)> = Vec::new();
    for Row(number, _, arch, family) in &TARGETS {
        let letters = match (arch, family) {
            (None, _) => "",
            (Some(_), None) => "[a]",
            (Some(_), Some(_)) => "[a|f]",
        };
        names.push((*number, format!("sm_{number}{letters}")));
    }
    names.sort();
    names.into_iter().map(|(_, name)| name).collect::<Vec<_>>().join(", ")
}
