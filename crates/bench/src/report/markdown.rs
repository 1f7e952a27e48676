//! Writes `docs/benchmarks.md` and the figures of the book's summary.

use minijinja::{Value, context};

use super::runs::{Against, Joined, Runs};
use super::{counted, duration, or_empty, range, template, times, wrapped};
use crate::latency::{Latency, Turns};
use crate::stats::Verdict;
use crate::tier::numbered;

/// Explains the figures and their limits; written by hand.
const NOTES: &str = include_str!("notes.txt");

/// The page, and the figures of the book's summary.
const TEMPLATE: &str = include_str!("report.md");

/// The rows of the summary and their titles there: what most programs do with each part,
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

/// The lines around the summary's figures.
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
/// summary's markers. The summary is a page of the book, beside `tables.md` and the pictures.
pub fn figures(quiet: &Runs) -> String {
    let about = format!(
        "{} *Ratio* is the figure of the best peer divided by ours. \
         [All tables](tables.md), with what others do better.\n",
        provenance(quiet)
    );
    let values = context! {
        is_page => false,
        picture => (!charted(quiet).is_empty()).then_some(""),
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
    let mut rows: Vec<_> = chosen(runs).filter_map(with_peer).collect();
    if rows.is_empty() {
        rows.extend(runs.rows.values().map(titled).filter_map(with_peer));
    }
    rows
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
    let cores = counted(machine.cores, ["core", "cores"]);
    let load = meta.load.words();
    let load = load.map_or_else(String::new, |words| format!(", {words}"));
    let iterations = counted(meta.iterations, ["iteration", "iterations"]);
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
            line.extend(Latency::FIGURES.map(|(_, figure)| duration(figure(waits))));
            line.push(or_empty(waits.turns, Turns::text));
            lines.push(line);
        }
    }
    lines
}

/// Returns a sentence for each row that a peer wins.
fn lost(runs: &Runs) -> Vec<String> {
    let rows = runs.rows.values().filter_map(|row| {
        let best = row.best.as_ref();
        let best = best.filter(|best| best.range.verdict() == Verdict::Below)?;
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
    let rows = runs.rows.values().filter(|row| row.tier >= LOADED_FROM);
    let rows: Vec<_> = rows.map(titled).collect();
    let against = rows.iter().copied().filter_map(with_peer);
    let lowest = against.min_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio));
    context! {
        title => runs.metadata.load.words().unwrap_or_default(),
        provenance => wrapped(&provenance(runs), LINE),
        lowest => lowest.map(|(title, best)| {
            format!("{}, against {}: {title}", times(best.ratio), best.name)
        }),
        rows => rows.into_iter().map(values_of).collect::<Vec<_>>(),
    }
}
