//! Plots the curves.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::{Curve, LENGTHS, LIMITS};
use crate::opinion::show::{round, time};

/// The position of a limit of zero on an axis that has no zero.
const NONE: f64 = 0.1;
/// How long our own threads spin, in microseconds: `SPIN_FOR` of blitz-io-sync.
const OURS: f64 = 60.0;
/// The least value that can be distinguished from nothing.
const LEAST: f64 = 0.03;
/// High enough for the legend to be above the curves.
const MOST: f64 = 10_000.0;
const COLOURS: [RGBColor; 4] = [
    RGBColor(0x1b, 0x7f, 0xbd),
    RGBColor(0x2a, 0x9d, 0x55),
    RGBColor(0xd9, 0x7a, 0x06),
    RGBColor(0xb8, 0x32, 0x4f),
];
const GREY: RGBColor = RGBColor(0x77, 0x77, 0x77);

type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;

pub fn draw(
    file: &Path,
    locks: &[Curve],
    tokens: &[Curve],
    hand_over: f64,
) -> Result<(), Box<dyn Error>> {
    let canvas = SVGBackend::new(file, (1_000, 500)).into_drawing_area();
    canvas.fill(&WHITE)?;
    let panels = canvas.split_evenly((1, 2));
    panel(
        &panels[0],
        "A lock, taken by turns",
        "section",
        locks,
        hand_over,
    )?;
    panel(
        &panels[1],
        "A token, back and forth",
        "answer",
        tokens,
        hand_over,
    )?;
    canvas.present()?;
    Ok(())
}

fn panel(
    canvas: &Canvas<'_>,
    title: &str,
    what: &str,
    curves: &[Curve],
    hand_over: f64,
) -> Result<(), Box<dyn Error>> {
    let mut chart = ChartBuilder::on(canvas)
        .caption(title, ("sans-serif", 21))
        .margin(12)
        .x_label_area_size(46)
        .y_label_area_size(56)
        .build_cartesian_2d((NONE..400.0).log_scale(), (LEAST..MOST).log_scale())?;
    chart
        .configure_mesh()
        .disable_mesh()
        .x_desc("spins for at most … µs (leftmost: not at all)")
        .y_desc("µs an operation, beside the work")
        .x_label_formatter(&label)
        .y_label_formatter(&label)
        .label_style(("sans-serif", 16))
        .draw()?;
    let cost = hand_over / 1e3;
    chart
        .draw_series(DashedLineSeries::new(
            [(cost, LEAST), (cost, 100.0)],
            5,
            4,
            GREY.stroke_width(1),
        ))?
        .label(format!(
            "dashed: a hand-over to a sleeper, {}",
            time(hand_over)
        ))
        .legend(|(x, y)| PathElement::new([(x, y), (x + 6, y)], GREY));
    chart
        .draw_series(LineSeries::new(
            [(OURS, LEAST), (OURS, 100.0)],
            GREY.stroke_width(1),
        ))?
        .label("what blitz-io-sync does: 60 µs")
        .legend(|(x, y)| PathElement::new([(x, y), (x + 18, y)], GREY));
    for (curve, colour) in curves.iter().zip(COLOURS) {
        let points = points(curve);
        chart.draw_series(
            points
                .iter()
                .map(|&point| Circle::new(point, 3, colour.filled())),
        )?;
        chart
            .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
            .label(format!("{what} of {}", round(curve.length)))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .border_style(GREY)
        .background_style(WHITE.mix(0.85))
        .label_font(("sans-serif", 15))
        .draw()?;
    Ok(())
}

fn points(curve: &Curve) -> Vec<(f64, f64)> {
    debug_assert!(LENGTHS.contains(&curve.length));
    LIMITS
        .iter()
        .enumerate()
        .map(|(place, &limit)| {
            let x = (limit as f64 / 1e3).max(NONE);
            (x, (curve.overhead(place) / 1e3).max(LEAST))
        })
        .collect()
}

fn label(value: &f64) -> String {
    format!("{value}")
}
