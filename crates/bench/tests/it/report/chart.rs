//! The chart of the ratios.

use blitz_io_bench::report::chart::{Theme, svg};
use blitz_io_bench::report::runs::Runs;

use super::of_three;

#[test]
fn a_bar_goes_from_one_to_the_ratio_in_the_colour_of_the_verdict() {
    let mut document = of_three(10, 40, 90);
    let won = document.benchmarks["lock"].clone();
    document
        .benchmarks
        .insert("mutex_uncontended".to_owned(), won);
    let mut runs = Runs::by_load(&[document]).unwrap().remove(0);
    let light = svg(&runs, Theme::Light).unwrap();
    let dark = svg(&runs, Theme::Dark).unwrap();
    // The scale goes from 1/2 to 4: 1 is a third of the way, 4 at the end.
    let (left, right): (f64, f64) = (280.0, 630.0);
    let third = (right - left) / 3.0;
    let bar = format!(
        "<rect x=\"{:.1}\" y=\"47\" width=\"{:.1}\"",
        left + third,
        2.0 * third
    );
    assert!(light.contains(&bar), "{bar}\n{light}");
    assert!(light.contains("4.00 × one") && light.contains("#2f6fd0"));
    assert!(dark.contains("#58a6ff") && !dark.contains("#2f6fd0"));
    for page in [light, dark] {
        assert!(page.starts_with("<svg ") && page.ends_with("</svg>\n"));
    }
    // Without any row of the README, all rows are shown.
    runs.rows.shift_remove("mutex_uncontended");
    assert!(svg(&runs, Theme::Light).unwrap().contains("4.00 × one"));
    runs.rows.clear();
    assert_eq!(svg(&runs, Theme::Light), None);
}
