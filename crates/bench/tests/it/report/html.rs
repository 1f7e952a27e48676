//! The page of one run.

use blitz_io_bench::Scenario;
use blitz_io_bench::report::html::render;
use blitz_io_bench::scenario::OURS;

use super::{run, samples};

#[test]
fn a_row_has_bars_a_ratio_with_its_interval_and_waits() {
    let scenario = Scenario::new(4, "lock", "Lock <wait>", 1000).threads(2);
    let contenders = vec![
        samples(OURS, &[10, 10, 10], Some(700)),
        samples("peer", &[40, 40, 40], Some(900)),
    ];
    let document = run(&scenario, contenders);
    let page = render(&document);
    for part in [
        "<html lang=\"en\">",
        "width=device-width",
        "Lock &lt;wait&gt;, 2 threads",
        "width:25.00%",
        "width:100.00%",
        "10.0 ns",
        "40.0 ns",
        "4.00×",
        "95 %: 4.00 – 4.00, against peer",
        "p99.9",
        &document.metadata.machine.cpu,
    ] {
        assert!(page.contains(part), "{part} is missing");
    }
    // Every opened element is closed again.
    for tag in [
        "section", "article", "ul", "ol", "li", "div", "dl", "table", "p",
    ] {
        let opened =
            page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        let closed = page.matches(&format!("</{tag}>")).count();
        assert_eq!(opened, closed, "<{tag}>");
    }
}
