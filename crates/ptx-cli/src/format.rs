//! How the demo prints.

use std::time::Duration;

/// A time in three digits or so.
pub(crate) fn time(duration: Duration) -> String {
    let nanos = duration.as_secs_f64() * 1e9;
    for (unit, size) in [("s", 1e9), ("ms", 1e6), ("µs", 1e3)] {
        if nanos >= size {
            return format!("{:.*} {unit}", usize::from(nanos < size * 100.0), nanos / size);
        }
    }
    format!("{nanos:.0} ns")
}

/// The first digits of a key, enough for a person to find it again.
pub(crate) fn short(key: impl std::fmt::Display) -> String {
    format!("{key:.12}")
}

/// Prints rows under a heading, columns as wide as they need to be. Columns named in `right` are
/// aligned to the right.
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
