//! The tables on the terminal.

use blitz_io_bench::report::Style;
use blitz_io_bench::report::table::render;
use blitz_io_bench::scenario::{Compares, OURS};
use blitz_io_bench::{Document, Scenario, scenarios};

use super::{run, samples};

fn document() -> Document {
    let scenario = Scenario::new(4, "lock", "Lock", 1000).threads(8);
    let contenders = vec![
        samples(OURS, &[10, 10, 10, 10, 10], Some(700)),
        samples("peer", &[25, 25, 25, 25, 25], Some(900)),
    ];
    run(&scenario, contenders)
}

#[test]
fn a_row_shows_both_sides_the_ratio_and_the_winner() {
    let text = render(&document(), Style::default());
    let row = text.lines().find(|line| line.contains("lock")).unwrap();
    for part in ["8", "10.0 ns", "25.0 ns peer", "2.50×", "2.50 – 2.50", OURS] {
        assert!(row.contains(part), "{part} is missing in {row}");
    }
    assert!(text.contains("1 won, 0 tied, 0 lost"));
    assert!(text.contains("longest"), "the waits are missing");
}

#[test]
fn colour_only_where_it_is_wanted() {
    assert!(!render(&document(), Style::default()).contains('\u{1b}'));
    let coloured = Style {
        colour: true,
        width: None,
    };
    assert!(render(&document(), coloured).contains('\u{1b}'));
}

#[test]
fn a_narrow_table_leaves_out_what_it_can_do_without() {
    let width = |style| {
        let text = render(&document(), style);
        assert!(
            text.contains("2.50×") && text.contains("25.0 ns peer"),
            "{text}"
        );
        text.lines().map(|line| line.chars().count()).max().unwrap()
    };
    let narrow = |width, colour| Style {
        colour,
        width: Some(width),
    };
    assert!(width(Style::default()) > 60);
    assert!(width(narrow(60, false)) <= 60);
    assert!(width(narrow(45, false)) <= 45);
    let text = render(&document(), narrow(60, true));
    assert!(!text.contains("95 %") && text.contains("ratio"), "{text}");
}

#[test]
fn each_row_fits_into_60_columns_unbroken() {
    // Every scenario, with figures as long as any, and each peer as the best one.
    let slow = |name| samples(name, &[109_500_000], Some(109_500_000));
    for scenario in scenarios::registry() {
        let contenders = std::iter::once(OURS).chain(scenario.peers());
        let mut document = run(&scenario, contenders.map(slow).collect());
        let row = document.benchmarks.values_mut().next().unwrap();
        (row.compares, row.ratio) = (Compares::P99Ns, Some(0.001_23));
        for peer in scenario.peers() {
            let row = document.benchmarks.values_mut().next().unwrap();
            row.best_peer = Some(peer.to_owned());
            for (width, colour) in [(60, false), (60, true), (80, false)] {
                let style = Style {
                    colour,
                    width: Some(width),
                };
                let (plain, longest) = unstyled(&render(&document, style));
                assert!(longest <= width, "{width}:\n{plain}");
                for whole in [&scenario.id, peer, "<0.01×"] {
                    assert!(plain.contains(whole), "{whole} is broken:\n{plain}");
                }
            }
        }
    }
}

/// Returns the text without colours, and the length of its longest line.
fn unstyled(text: &str) -> (String, usize) {
    let mut plain = String::new();
    for (i, part) in text.split('\u{1b}').enumerate() {
        let shown = if i == 0 {
            part
        } else {
            part.split_once('m').map_or("", |(_, rest)| rest)
        };
        plain.push_str(shown);
    }
    let longest = plain
        .lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or(0);
    (plain, longest)
}

#[test]
fn long_times_have_long_units() {
    let scenario = Scenario::new(4, "lock", "Lock", 1000).threads(8);
    let slow = samples(OURS, &[2_000_000; 5], Some(1_500_000_000));
    let text = render(&run(&scenario, vec![slow]), Style::default());
    for part in ["2.00 ms", "1.50 s"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

#[test]
fn a_busy_machine_is_named() {
    let mut document = document();
    for (busy, is_named) in [(None, false), (Some(0.1), false), (Some(1.26), true)] {
        document.metadata.busy_at_start = busy;
        let text = render(&document, Style::default());
        assert_eq!(text.contains("Careful"), is_named, "{text}");
        assert_eq!(text.contains("1.3 processors"), is_named, "{text}");
    }
}

#[test]
fn an_interrupted_run_says_so() {
    let mut document = document();
    document.interrupted = true;
    let text = render(&document, Style::default());
    let iterations = format!("up to {}", document.metadata.iterations);
    assert!(text.contains("Interrupted") && text.contains(&iterations));
}
