//! The page of the benchmarks, and the figures of the summary.

use blitz_io_bench::report::markdown::{CHOSEN, figures, page};
use blitz_io_bench::report::runs::Runs;
use blitz_io_bench::{Document, scenarios};

use super::of_three;

fn loaded() -> Document {
    let mut document = of_three(40, 20, 90);
    document.metadata.load.hog = 1;
    document
}

#[test]
fn the_page_has_the_rows_the_waits_the_lost_and_the_loads() {
    let runs = [
        of_three(10, 30, 90),
        of_three(10, 25, 90),
        of_three(10, 20, 90),
        loaded(),
    ];
    let page = page(&Runs::by_load(&runs).unwrap(), "");
    for part in [
        "Median of 3 runs of `blitz bench`",
        "| Lock, 8 threads | 10.0 ns | 25.0 ns, one | **2.50×** | 2.00 – 3.00 | 9.00× |",
        "## Tier 4: Threads",
        "## Waits of single operations",
        "In no row, in all of these runs.",
        "## Beside 1 busy process",
        "The lowest ratio is 0.50×, against one: Lock, 8 threads.",
        "0.50× (lost)",
        "## On your machine",
    ] {
        assert!(page.contains(part), "{part} is missing in\n{page}");
    }
    // Each line of a table needs the same number of columns.
    for table in page.split("\n\n").filter(|part| part.starts_with("| ")) {
        let columns = |line: &str| line.matches('|').count();
        let first = columns(table.lines().next().unwrap());
        assert!(table.lines().all(|line| columns(line) == first), "{table}");
    }
}

#[test]
fn a_lost_row_is_named() {
    let page = page(&Runs::by_load(&[of_three(30, 20, 90)]).unwrap(), "");
    assert!(page.contains("- Lock, 8 threads: one takes 20.0 ns, we take 30.0 ns."));
    assert!(page.contains("One run of"));
}

#[test]
fn the_section_about_servers_is_kept() {
    let runs = [of_three(10, 20, 90)];
    let runs = Runs::by_load(&runs).unwrap();
    let (begin, end) = ("<!-- servers:begin -->", "<!-- servers:end -->");
    let empty = format!("{begin}\n{end}\n\n");
    let filled = format!("{begin}\n## Servers\n\nfast\n{end}\n\n");
    let first = page(&runs, "an old page without markers");
    assert!(first.contains(&empty), "{first}");
    let second = page(&runs, &first.replace(&empty, &filled));
    assert!(second.contains(&filled), "{second}");
    assert_eq!(second.replace(&filled, &empty), first);
}

#[test]
fn the_chosen_rows_exist() {
    let all = scenarios::registry();
    for (id, _) in CHOSEN {
        assert!(all.iter().any(|scenario| scenario.id == id), "{id}");
    }
}

#[test]
fn the_summary_gets_the_chosen_rows_only() {
    let mut document = of_three(10, 30, 90);
    let row = document.benchmarks["lock"].clone();
    document
        .benchmarks
        .insert("mutex_uncontended".to_owned(), row);
    let text = figures(&Runs::by_load(&[document]).unwrap()[0]);
    assert_eq!(
        text.matches("\n| Mutex, lock and unlock |").count(),
        1,
        "{text}"
    );
    assert!(text.contains("srcset=\"benchmark-dark.svg\""), "{text}");
    assert!(
        text.contains("alt=\"The ratios of the table below\""),
        "{text}"
    );
}
