//! How are values printed for a person?

use std::fmt::Display;
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
pub(crate) fn table<const N: usize>(heading: [&str; N], right: [bool; N], rows: &[[String; N]]) {
    let mut widths = heading.map(|cell| cell.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let print = |row: [&str; N]| {
        let cells = row.iter().zip(widths).zip(right).map(|((cell, width), right)| {
            if right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        println!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    };
    print(heading);
    for row in rows {
        print(row.each_ref().map(String::as_str));
    }
}
