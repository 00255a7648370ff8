//! How are figures reported? As a table on standard output, as JSON and as a chart.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use plotters::prelude::*;
use serde_json::json;

use crate::Spread;

/// The figures of all contenders in one situation.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The situation, such as `hit latency, 512 uniform, 1 thread`.
    pub situation: String,
    /// Each contender's name and figure. Ratios are to the first.
    pub figures: Vec<(String, Spread)>,
}

/// The figures of one bench.
#[derive(Clone, Debug)]
pub struct Report {
    name: String,
    unit: String,
    cells: Vec<Cell>,
    notes: Vec<String>,
}

impl Report {
    /// Creates an empty report of the bench `name` with figures in `unit`.
    pub fn new(name: &str, unit: &str) -> Self {
        Self { name: name.to_owned(), unit: unit.to_owned(), cells: Vec::new(), notes: Vec::new() }
    }

    /// Prints a line and adds it to the JSON, for a figure that is not a contender's.
    pub fn note(&mut self, line: String) {
        println!("{line}");
        self.notes.push(line);
    }

    /// Adds a cell and returns it as text: each contender's median, quartiles and ratio to the
    /// first. `~` marks a ratio whose spreads overlap.
    pub fn add(&mut self, cell: Cell) -> String {
        let mut text = format!("{}\n", cell.situation);
        if let Some((_, first)) = cell.figures.first() {
            for (name, spread) in &cell.figures {
                let unresolved = if spread.differs_from(first) { ' ' } else { '~' };
                let _ = writeln!(
                    text,
                    "  {name:<24} {:>9.1} {} [{:.1} to {:.1}]  ×{:.2}{unresolved}",
                    spread.median,
                    self.unit,
                    spread.lower,
                    spread.upper,
                    spread.median / first.median,
                );
            }
        }
        self.cells.push(cell);
        text
    }

    /// Writes `NAME.json` and `NAME.svg` into `directory` and returns their paths.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be written.
    pub fn write(&self, directory: &Path) -> Result<[PathBuf; 2], Box<dyn Error>> {
        std::fs::create_dir_all(directory)?;
        let (data, chart) = (
            directory.join(format!("{}.json", self.name)),
            directory.join(format!("{}.svg", self.name)),
        );
        let cells: Vec<_> = self
            .cells
            .iter()
            .map(|cell| {
                let figures: serde_json::Map<_, _> = cell
                    .figures
                    .iter()
                    .map(|(name, spread)| {
                        (name.clone(), json!([spread.lower, spread.median, spread.upper]))
                    })
                    .collect();
                json!({ "situation": cell.situation, "figures": figures })
            })
            .collect();
        let report = json!({ "bench": self.name, "unit": self.unit, "quartiles": cells, "notes": self.notes });
        std::fs::write(&data, serde_json::to_string_pretty(&report)?)?;
        self.draw(&chart)?;
        Ok([data, chart])
    }

    /// Draws a panel for each situation, a bar for each contender, and a line between its quartiles.
    fn draw(&self, path: &Path) -> Result<(), Box<dyn Error>> {
        let columns = 3;
        let rows = self.cells.len().div_ceil(columns).max(1);
        let height = u32::try_from(rows)? * 240;
        let root = SVGBackend::new(path, (1320, height)).into_drawing_area();
        root.fill(&WHITE)?;
        for (panel, cell) in root.split_evenly((rows, columns)).iter().zip(&self.cells) {
            let most = cell.figures.iter().map(|(_, spread)| spread.upper).fold(1e-9, f64::max);
            let count = i32::try_from(cell.figures.len())?;
            let names: Vec<&str> = cell.figures.iter().map(|(name, _)| name.as_str()).collect();
            let mut chart = ChartBuilder::on(panel)
                .caption(&cell.situation, ("sans-serif", 14))
                .margin(8)
                .x_label_area_size(24)
                .y_label_area_size(120)
                .build_cartesian_2d(0.0..most * 1.05, (0..count).into_segmented())?;
            let label = |segment: &SegmentValue<i32>| match segment {
                SegmentValue::CenterOf(row) => usize::try_from(*row)
                    .ok()
                    .and_then(|row| names.get(row))
                    .map_or(String::new(), |name| (*name).to_owned()),
                _ => String::new(),
            };
            chart
                .configure_mesh()
                .disable_y_mesh()
                .y_labels(names.len())
                .y_label_formatter(&label)
                .x_desc(&self.unit)
                .draw()?;
            for (row, (_, spread)) in (0_i32..).zip(&cell.figures) {
                let (low, high) = (SegmentValue::Exact(row), SegmentValue::Exact(row + 1));
                let mut bar =
                    Rectangle::new([(0.0, low), (spread.median, high)], BLUE.mix(0.6).filled());
                bar.set_margin(3, 3, 0, 0);
                chart.draw_series([bar])?;
                let middle = SegmentValue::CenterOf(row);
                chart.draw_series([PathElement::new(
                    vec![(spread.lower, middle.clone()), (spread.upper, middle)],
                    BLACK,
                )])?;
            }
        }
        root.present()?;
        Ok(())
    }
}
