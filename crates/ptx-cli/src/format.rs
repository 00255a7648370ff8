//! How are values printed for a person?

use std::fmt::Display;
use std::io::{self, Write};
use std::time::Duration;

use bytesize::ByteSize;

/// A number of bytes, in a unit that fits it.
pub(crate) fn bytes(count: u64) -> impl Display {
    ByteSize(count)
}

/// A duration, in a unit that fits it.
pub(crate) fn time(duration: Duration) -> String {
    format!("{duration:.1?}")
}

/// The first digits of a key, by which a person recognizes it.
pub(crate) fn short(key: impl Display) -> String {
    format!("{key:.12}")
}

/// Prints rows under a heading, in columns as wide as their longest cell. `right` aligns a column to
/// the right.
pub(crate) fn table<const N: usize>(
    out: &mut dyn Write,
    heading: [&str; N],
    right: [bool; N],
    rows: &[[String; N]],
) -> io::Result<()> {
    let mut widths = heading.map(|cell| cell.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut print = |row: [&str; N]| {
        let cells = row.iter().zip(widths).zip(right).map(|((cell, width), right)| {
            if right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    print(heading)?;
    rows.iter().try_for_each(|row| print(row.each_ref().map(String::as_str)))
}
