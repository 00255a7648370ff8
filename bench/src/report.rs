//! The report: a table on standard output, JSON and a chart under `target/`.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use plotters::prelude::*;
use serde_json::json;

use crate::Spread;

/// One row of contenders in one situation.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The situation, such as `hit latency, 512 uniform, 1 thread`.
    pub situation: String,
    /// Each contender's name and figure. The first is the one that ratios are taken to.
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
    /// An empty report of the bench `name`, in `unit`.
    pub fn new(name: &str, unit: &str) -> Self {
        Self { name: name.to_owned(), unit: unit.to_owned(), cells: Vec::new(), notes: Vec::new() }
    }

    /// Prints a figure that is not a contender's, and keeps it in the JSON.
    pub fn note(&mut self, line: String) {
        println!("{line}");
        self.notes.push(line);
    }

    /// Adds a row and gives it back as text: each contender's median, its ratio to the first, and
    /// a `~` where the two are inside each other's spread.
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

    /// Writes `NAME.json` and `NAME.svg` into `folder`, and says where.
    ///
    /// # Errors
    ///
    /// Where a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<[PathBuf; 2], Box<dyn Error>> {
        std::fs::create_dir_all(folder)?;
        let (data, chart) =
            (folder.join(format!("{}.json", self.name)), folder.join(format!("{}.svg", self.name)));
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

    /// One panel a situation, one bar a contender, the middle half as a thin line.
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
