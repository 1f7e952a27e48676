//! Writes `docs/benchmarks.md` and the figures of the README.

use minijinja::{Value, context};

use super::runs::{Against, Joined, Runs};
use super::{duration, range, template, times, wrapped};
use crate::latency::{Latency, Turns};
use crate::stats::Verdict;
use crate::tier::numbered;

/// Explains the figures and their limits; written by hand.
const NOTES: &str = include_str!("notes.txt");

/// The page, and the figures of the README.
const TEMPLATE: &str = include_str!("report.md");

/// The rows of the README and their titles there: what most programs do with each part,
/// not what looks best.
pub const CHOSEN: [(&str, &str); 12] = [
    ("mutex_uncontended", "Mutex, lock and unlock"),
    (
        "mutex_contended_8_short",
        "Mutex, 8 threads, short sections",
    ),
    ("barrier_8", "Barrier, 8 threads"),
    ("channel_1_1_100", "mpsc, 1 thread to 1, capacity 100"),
    ("channel_4_4_1000", "mpmc, 4 threads to 4, capacity 1000"),
    ("semaphore_tasks", "Semaphore, 8 tasks, 2 permits"),
    ("mutex_tasks", "Mutex, 4 tasks"),
    ("spawn_await_2", "Spawn a task and await it"),
    (
        "ping_pong_oneshot_across_2",
        "Two tasks, ping-pong over oneshot",
    ),
    ("timer_cancel_2", "Start a timer and cancel it"),
    ("spawn_blocking_2", "spawn_blocking, there and back"),
    ("idle_task_bytes", "Memory of an idle task"),
];

/// The lines around the README's figures.
pub const MARKERS: [&str; 2] = ["<!-- figures:begin -->", "<!-- figures:end -->"];

/// The lines around the section that `ecosystem/bench/run` writes into the page.
const SERVERS: [&str; 2] = ["<!-- servers:begin -->", "<!-- servers:end -->"];

/// The first tier whose rows under load are shown: the tiers below have one thread, or a
/// runtime without competition.
const LOADED_FROM: u8 = 3;

/// The length of a line of text.
const LINE: Option<usize> = Some(88);

/// Returns the page of several runs, those without load first, as [`Runs::by_load`]
/// returns them. The section about servers, which other measurements fill, is kept from
/// `old`, the previous page.
pub fn page(groups: &[Runs], old: &str) -> String {
    let Some(quiet) = groups.first() else {
        return String::new();
    };
    let tiers = numbered().filter_map(|(number, tier)| {
        let rows = quiet.rows.values().filter(|row| row.tier == number);
        let rows: Vec<_> = rows.map(titled).map(values_of).collect();
        (!rows.is_empty()).then(|| context! { number, title => tier.title, rows })
    });
    let [begin, end] = SERVERS;
    let servers = between(old, SERVERS).map_or("\n", |(_, inner, _)| inner);
    let values = context! {
        is_page => true,
        picture => (!charted(quiet).is_empty()).then_some(""),
        provenance => wrapped(&provenance(quiet), LINE),
        score => quiet.score().sentence(),
        tiers => tiers.collect::<Vec<_>>(),
        waits => waits(quiet),
        heap => quiet.heap.as_ref().map(|heap| wrapped(&heap.sentence(), LINE)),
        lost => lost(quiet),
        loaded => groups[1..].iter().map(loaded).collect::<Vec<_>>(),
        servers => format!("{begin}{servers}{end}"),
        notes => NOTES,
    };
    template::render("report.md", TEMPLATE, values)
}

/// Returns the picture, a small table, and their provenance: the text between the
/// README's markers.
pub fn figures(quiet: &Runs) -> String {
    let about = format!(
        "{} *Ratio* is the figure of the best peer divided by ours. \
         [All rows](docs/benchmarks.md), with what others do better.\n",
        provenance(quiet)
    );
    let values = context! {
        is_page => false,
        picture => (!charted(quiet).is_empty()).then_some("docs/"),
        rows => chosen(quiet).map(values_of).collect::<Vec<_>>(),
        about => wrapped(&about, LINE),
    };
    template::render("report.md", TEMPLATE, values)
}

/// Returns the chosen rows that were measured.
fn chosen(runs: &Runs) -> impl Iterator<Item = Titled<'_>> {
    let row = |(id, title): &(&str, &'static str)| Some((*title, runs.rows.get(*id)?));
    CHOSEN.iter().filter_map(row)
}

/// Returns the rows of the chart and their best peers: the chosen rows or, if none of
/// them was measured, all rows.
pub(super) fn charted(runs: &Runs) -> Vec<(&str, &Against)> {
    let some: Vec<_> = chosen(runs).filter_map(with_peer).collect();
    if some.is_empty() {
        runs.rows
            .values()
            .map(titled)
            .filter_map(with_peer)
            .collect()
    } else {
        some
    }
}

fn with_peer<'a>((title, row): Titled<'a>) -> Option<(&'a str, &'a Against)> {
    Some((title, row.best.as_ref()?))
}

/// A row under its title, or under one that suits the context.
pub(super) type Titled<'a> = (&'a str, &'a Joined);

fn titled(row: &Joined) -> Titled<'_> {
    (&row.title, row)
}

/// Returns `readme` with `figures` between its markers, or `None` if it has no markers.
///
/// ```
/// use blitz_io_bench::report::markdown::replace;
/// let readme = "# A\n<!-- figures:begin -->\nold\n<!-- figures:end -->\nb\n";
/// let new = "# A\n<!-- figures:begin -->\nnew\n<!-- figures:end -->\nb\n";
/// assert_eq!(replace(readme, "new\n").as_deref(), Some(new));
/// assert_eq!(replace("# A\n", "new\n"), None);
/// ```
pub fn replace(readme: &str, figures: &str) -> Option<String> {
    let [begin, end] = MARKERS;
    let (before, _, after) = between(readme, MARKERS)?;
    Some(format!("{before}{begin}\n{figures}{end}{after}"))
}

/// Returns the text before, between and after two markers.
fn between<'a>(text: &'a str, [begin, end]: [&str; 2]) -> Option<(&'a str, &'a str, &'a str)> {
    let (before, rest) = text.split_once(begin)?;
    let (inner, after) = rest.split_once(end)?;
    Some((before, inner, after))
}

/// Describes how many runs were made, of what, when and on which machine.
fn provenance(runs: &Runs) -> String {
    let meta = &runs.metadata;
    let machine = &meta.machine;
    let count = match runs.count {
        1 => "One run".to_owned(),
        n => format!("Median of {n} runs"),
    };
    let cores = match machine.cores {
        1 => "1 core".to_owned(),
        n => format!("{n} cores"),
    };
    let load = meta
        .load
        .words()
        .map_or_else(String::new, |words| format!(", {words}"));
    let iterations = match meta.iterations {
        1 => "1 iteration".to_owned(),
        n => format!("{n} iterations"),
    };
    let day = meta.measured_at.split('T').next().unwrap_or_default();
    format!(
        "{count} of `blitz bench`{load}, {iterations} each, {day}, {cores} of {} ({} {}).",
        machine.cpu, machine.os, machine.kernel
    )
}

/// Returns the columns of a row.
fn values_of((title, row): Titled<'_>) -> Value {
    let best = row.best.as_ref();
    context! {
        title,
        ours => row.compares.text(row.ours),
        peer => best.map(|best| format!("{}, {}", row.compares.text(best.figure), best.name)),
        ratio => best.map(judged),
        runs => best.map(|best| range([best.range.low, best.range.high])),
        tokio => row.tokio.as_ref().map(|tokio| times(tokio.ratio)),
    }
}

fn judged(best: &Against) -> String {
    let ratio = times(best.ratio);
    match best.range.verdict() {
        Verdict::Above => format!("**{ratio}**"),
        Verdict::Tie => format!("{ratio} (tie)"),
        Verdict::Below => format!("{ratio} (lost)"),
    }
}

/// Returns the lines of the table of waits. A title stands in its first line only.
fn waits(runs: &Runs) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    for row in runs.rows.values() {
        let mut title = row.title.clone();
        for (name, waits) in &row.waits {
            let mut line = vec![std::mem::take(&mut title), name.clone()];
            let Latency {
                p50_ns,
                p90_ns,
                p99_ns,
                p99_9_ns,
                max_ns,
                turns,
                ..
            } = *waits;
            line.extend([p50_ns, p90_ns, p99_ns, p99_9_ns, max_ns].map(duration));
            line.push(turns.map_or_else(String::new, Turns::text));
            lines.push(line);
        }
    }
    lines
}

/// Returns a sentence for each row that a peer wins.
fn lost(runs: &Runs) -> Vec<String> {
    let rows = runs.rows.values().filter_map(|row| {
        let best = row
            .best
            .as_ref()
            .filter(|best| best.range.verdict() == Verdict::Below)?;
        let (ours, theirs) = (row.compares.text(row.ours), row.compares.text(best.figure));
        Some(format!(
            "{}: {} takes {theirs}, we take {ours}.",
            row.title, best.name
        ))
    });
    rows.collect()
}

/// Returns the section about runs under load.
fn loaded(runs: &Runs) -> Value {
    let words = runs.metadata.load.words().unwrap_or_default();
    let mut title = words.chars();
    let first = title.next().map(|c| c.to_uppercase().to_string());
    let rows = runs.rows.values().filter(|row| row.tier >= LOADED_FROM);
    let rows: Vec<_> = rows.map(titled).collect();
    let against = rows.iter().copied().filter_map(with_peer);
    let lowest = against.min_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio));
    context! {
        title => first.unwrap_or_default() + title.as_str(),
        provenance => wrapped(&provenance(runs), LINE),
        lowest => lowest.map(|(title, best)| {
            format!("{}, against {}: {title}", times(best.ratio), best.name)
        }),
        rows => rows.into_iter().map(values_of).collect::<Vec<_>>(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::runs::tests::document;
    use super::*;

    fn loaded() -> super::super::document::Document {
        let mut document = document(40, 20, 90);
        document.metadata.load.hog = 1;
        document
    }

    #[test]
    fn the_page_has_the_rows_the_waits_the_lost_and_the_loads() {
        let runs = [
            document(10, 30, 90),
            document(10, 25, 90),
            document(10, 20, 90),
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
        let page = page(&Runs::by_load(&[document(30, 20, 90)]).unwrap(), "");
        assert!(page.contains("- Lock, 8 threads: one takes 20.0 ns, we take 30.0 ns."));
        assert!(page.contains("One run of"));
    }

    #[test]
    fn the_section_about_servers_is_kept() {
        let runs = [document(10, 20, 90)];
        let runs = Runs::by_load(&runs).unwrap();
        let [begin, end] = SERVERS;
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
        let all = crate::scenarios::registry();
        for (id, _) in CHOSEN {
            assert!(all.iter().any(|scenario| scenario.id == id), "{id}");
        }
    }

    #[test]
    fn the_readme_gets_the_chosen_rows_only() {
        let mut document = document(10, 30, 90);
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
        assert!(
            text.contains("srcset=\"docs/benchmark-dark.svg\""),
            "{text}"
        );
        assert!(
            text.contains("alt=\"The ratios of the table below\""),
            "{text}"
        );
    }
}
