//! A run as a page: a lane for each thread, downwards in the order of the events.
//!
//! The page has no script. A row is an event. A bar in a lane shows that the thread runs, could run, or waits,
//! and for what. An arrow leads from a thread to the thread that it starts or wakes. The choices that make the run fail are
//! marked, if they are few, and explained above the picture. The picture is cut into parts
//! that a browser lays out when they are in view. Above it is the whole run in the width of the window.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use blitz_io_sim::{Event, Happening, Outcome, Program, Recording, Simulator, Trace};

use super::choices::{self, Explained, counted};
use super::stacks::Names;
use super::{failed, report};
use crate::exit::Exit;
use crate::output;
use crate::why::picture::{STYLE, escaped};

/// Events that are drawn; of a longer run, the last ones.
const DRAWN: usize = 50_000;
/// Rows of one part.
const PART: usize = 250;
/// Height of a row, and width of a lane.
const ROW: usize = 16;
const LANE: usize = 26;
/// Width of the column with the number of the step.
const NUMBERS: usize = 64;
/// Width of the texts beside the lanes. Those of choices may be longer.
const TEXTS: usize = 560;
/// Links from the overview into the picture.
const LINKS: usize = 40;

const OWN: &str = ":root { --text: #222; --run: #2e7d32; --ready: #9e9e9e; --lock: #d32f2f; --signal: #8e24aa; \
    --word: #ef6c00; --time: #0288d1; --join: #795548; --input: #00897b; --last: #ffe082; --choice: #bbdefb } \
    .run svg { max-width: none; display: block; font: 12px monospace } \
    .run .overview { width: 100%; height: auto } \
    .run text { fill: var(--text) } .run .dim { fill: #888 } .run .fault { fill: var(--lock) } \
    .run .part { content-visibility: auto } \
    .run .lanes { position: sticky; top: 0; background: Canvas; z-index: 1 } \
    .bar-run { fill: var(--run) } .bar-ready { fill: var(--ready) } .bar-lock { fill: var(--lock) } \
    .bar-signal { fill: var(--signal) } .bar-word { fill: var(--word) } .bar-time { fill: var(--time) } \
    .bar-join { fill: var(--join) } .bar-input { fill: var(--input) } \
    .arrow { stroke: var(--text); fill: none } .head { fill: var(--text) } .last { fill: var(--last) } \
    .choice { fill: var(--choice) } h1 { overflow-wrap: anywhere } li { margin: .3em 0 } .where { font: 12px monospace } \
    .link { fill: transparent } .link:hover { fill: #8884 } \
    .key { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 1em } \
    @media (prefers-color-scheme: dark) { :root { --text: #ddd; --run: #66bb6a; --ready: #757575; --lock: #ef5350; \
    --signal: #ce93d8; --word: #ffa726; --time: #4fc3f7; --join: #bcaaa4; --input: #4db6ac; --last: #5d4a00; --choice: #1a3a5c } }";

/// Kinds of bars: class, width, text of the key.
const BARS: [(&str, usize, &str); 8] = [
    ("run", 10, "runs"),
    ("ready", 2, "could run"),
    ("lock", 6, "waits for a lock"),
    ("signal", 6, "a condition, semaphore or barrier"),
    ("word", 6, "a word of memory"),
    ("time", 6, "a time"),
    ("join", 6, "the end of a thread"),
    ("input", 6, "a descriptor"),
];

/// Repeats a run, and writes its page.
pub fn write(simulator: &mut Simulator, trace: &Trace, path: &Path) -> Result<Outcome, Exit> {
    let (outcome, recording) = simulator.record(&trace.plan).map_err(failed)?;
    let choices = choices::explain(simulator, trace, &recording)?;
    let page = page(&trace.program, &outcome, &recording, &choices);
    fs::write(path, page).map_err(|error| Exit::Failed(format!("{}: {error}", path.display())))?;
    output::tell(format_args!(
        "{}: {}, {}\n",
        path.display(),
        counted(
            usize::try_from(outcome.points).unwrap_or(usize::MAX),
            "step"
        ),
        counted(recording.events.len(), "event")
    ));
    Ok(outcome)
}

/// Index into `BARS` of a wait.
fn bar_of(kind: &str) -> usize {
    match kind {
        "a mutex" | "a read-write lock" | "a pthread_once" => 2,
        "a condition" | "a semaphore" | "a barrier" => 3,
        "a time" => 5,
        "the end of a thread" => 6,
        "a descriptor" | "a signal" => 7,
        _ => 4,
    }
}

/// The rows and bars of a run.
#[derive(Default)]
struct Picture<'a> {
    rows: Vec<&'a Event>,
    /// Threads and their names.
    threads: BTreeMap<u32, &'a str>,
    /// Lane, index into `BARS`, first row, row after the last.
    bars: Vec<(usize, usize, usize, usize)>,
    /// Width of the texts.
    texts: usize,
}

impl<'a> Picture<'a> {
    /// `has_choices`: each choice is a row.
    fn new(events: &'a [Event], has_choices: bool) -> Picture<'a> {
        let mut picture = Picture {
            threads: choices::threads(events),
            texts: TEXTS,
            ..Picture::default()
        };
        for event in events {
            picture.threads.entry(event.thread).or_insert("");
            match event.what {
                Happening::Name(_) => {}
                Happening::Choice { .. } if !has_choices => {}
                _ => picture.rows.push(event),
            }
        }
        // The state of each thread: index into `BARS`, and since which row.
        let mut states = BTreeMap::from([(0, (0, 0))]);
        let mut current = 0;
        for row in 0..picture.rows.len() {
            let event = picture.rows[row];
            let thread = event.thread;
            if matches!(event.what, Happening::Choice { .. }) {
                continue;
            }
            // The thread that runs now, and the new state of the thread of the event.
            let (running, state) = match event.what {
                Happening::Call { .. } | Happening::Fault(_) => (thread, Some(0)),
                Happening::Wait { kind, .. } => (thread, Some(bar_of(kind))),
                Happening::WaitAgain { kind, faster, .. } => (faster, Some(bar_of(kind))),
                Happening::Ready { by } => (by.unwrap_or(current), Some(1)),
                Happening::Start { by } => (by, Some(1)),
                _ => (thread, None),
            };
            if running != current {
                if let Some((0, _)) = states.get(&current) {
                    picture.change(&mut states, current, Some(1), row);
                }
                picture.change(&mut states, running, Some(0), row);
                current = running;
            }
            picture.change(&mut states, thread, state, row);
        }
        let end = picture.rows.len();
        for thread in states.keys().copied().collect::<Vec<_>>() {
            picture.change(&mut states, thread, None, end);
        }
        picture
    }

    fn change(
        &mut self,
        states: &mut BTreeMap<u32, (usize, usize)>,
        thread: u32,
        to: Option<usize>,
        row: usize,
    ) {
        if states.get(&thread).map(|(state, _)| *state) == to {
            return;
        }
        if let Some((state, since)) = states.remove(&thread)
            && since < row
        {
            self.bars.push((self.lane(thread), state, since, row));
        }
        if let Some(state) = to {
            states.insert(thread, (state, row));
        }
    }

    fn lane(&self, thread: u32) -> usize {
        self.threads.range(..thread).count()
    }

    fn width(&self) -> usize {
        NUMBERS + self.threads.len() * LANE
    }

    /// Returns the x of the middle of a thread's lane.
    fn x(&self, thread: u32) -> usize {
        NUMBERS + self.lane(thread) * LANE + LANE / 2
    }
}

/// Returns the page.
fn page(
    program: &Program,
    outcome: &Outcome,
    recording: &Recording,
    choices: &[Explained],
) -> String {
    let names = Names::new(program);
    let mut picture = Picture::new(&recording.events, !choices.is_empty());
    for name in picture.threads.values_mut() {
        *name = names.thread(name);
    }
    let texts = choices
        .iter()
        .map(|choice| chosen(choice.decision, choices).chars().count());
    picture.texts = picture.texts.max(pixels(texts.max().unwrap_or(0)));
    let left_out = picture.rows.len().saturating_sub(DRAWN);
    if left_out > 0 {
        picture.rows.drain(..left_out);
        picture.bars.retain_mut(|(_, _, from, to)| {
            *from = from.saturating_sub(left_out);
            *to = to.saturating_sub(left_out);
            from < to
        });
    }
    let title = escaped(&format!("{}: {}", names.title(program), outcome.verdict));
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <style>{STYLE} {OWN}</style>\n</head>\n<body>\n<h1>{title}</h1>\n\
         <p>{}, {}, {}, {:.6} s of simulated time. <a href=\"#end\">The last step</a>, \
         <a href=\"#report\">the report</a>.</p>\n<p>A row is an event. An arrow goes from a thread to the one that \
         it starts or wakes.",
        counted(
            usize::try_from(outcome.points).unwrap_or(usize::MAX),
            "step"
        ),
        counted(picture.threads.len(), "thread"),
        counted(recording.events.len(), "event"),
        outcome.nanoseconds as f64 / 1e9
    );
    if left_out > 0 {
        let _ = write!(text, " The first {left_out} events are left out.");
    }
    if recording.is_cut_off {
        text.push_str(" The run had more events than can be recorded: its end is missing.");
    }
    text.push_str("</p>\n<p>");
    for (class, _, what) in BARS {
        let _ = write!(
            text,
            "<span class=\"key\" style=\"background: var(--{class})\"></span>{what}"
        );
    }
    text.push_str("</p>\n");
    reasons(&mut text, outcome, recording, choices);
    text.push_str("<div class=\"run\">\n");
    overview(&mut text, &picture);
    lanes(&mut text, &picture);
    let mut bars = picture.bars.clone();
    bars.sort_unstable_by_key(|(_, _, from, _)| *from);
    for start in (0..picture.rows.len()).step_by(PART) {
        part(&mut text, &picture, &bars, start, outcome, choices);
    }
    let _ = write!(
        text,
        "</div>\n<h2 id=\"report\">Report</h2>\n<pre>{}</pre>\n</body>\n</html>\n",
        escaped(&report::details(program, outcome, false))
    );
    text
}

/// Returns the width of a text of this length, whose letters are 7.3 pixels wide.
fn pixels(letters: usize) -> usize {
    letters * 73 / 10 + 20
}

/// Lists the choices that make the run fail, with links to their rows.
fn reasons(text: &mut String, outcome: &Outcome, recording: &Recording, choices: &[Explained]) {
    let all = recording.events.iter();
    let all = all.filter(|event| matches!(event.what, Happening::Choice { .. }));
    let all = all.count();
    if choices.is_empty() && all > 0 {
        let _ = writeln!(
            text,
            "<p>The run has {}. <code>blitz sim shrink</code> leaves those that matter, and they are marked here \
             then.</p>",
            counted(all, "choice")
        );
    }
    if all == 0 && outcome.verdict.is_failure() {
        let mut letters = choices::NONE.chars();
        let first: String = letters
            .next()
            .into_iter()
            .flat_map(char::to_uppercase)
            .collect();
        let _ = writeln!(text, "<p>{first}{}.</p>", letters.as_str());
    }
    if choices.is_empty() {
        return;
    }
    let what = if outcome.verdict.is_failure() {
        "What makes it fail"
    } else {
        "What was chosen"
    };
    let _ = writeln!(text, "<h2>{what}</h2>\n<ol>");
    for choice in choices {
        let _ = write!(
            text,
            "<li><a href=\"#choice{}\">Step {}</a>: {}",
            choice.decision,
            choice.step,
            escaped(&choice.what)
        );
        for place in &choice.places {
            let _ = write!(text, "<br><span class=\"where\">{}</span>", escaped(place));
        }
        text.push_str("</li>\n");
    }
    text.push_str("</ol>\n");
}

/// Draws the whole run from left to right.
fn overview(text: &mut String, picture: &Picture<'_>) {
    const WIDTH: usize = 1_000;
    const HEIGHT: usize = 8;
    let rows = picture.rows.len().max(1);
    let height = picture.threads.len() * HEIGHT;
    let _ = writeln!(
        text,
        "<svg class=\"overview\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"the whole run\">"
    );
    for (at, (class, ..)) in BARS.iter().enumerate() {
        let _ = write!(text, "<path class=\"bar-{class}\" d=\"");
        for (lane, _, from, to) in picture.bars.iter().filter(|(_, bar, ..)| *bar == at) {
            let scale = |row: usize| row as f64 * WIDTH as f64 / rows as f64;
            let (inset, size) = if at == 0 {
                (1, HEIGHT - 2)
            } else {
                (3, HEIGHT - 6)
            };
            let width = (scale(*to) - scale(*from)).max(0.2);
            let _ = write!(
                text,
                "M{:.1} {}h{width:.1}v{size}h-{width:.1}z",
                scale(*from),
                lane * HEIGHT + inset
            );
        }
        text.push_str("\"/>\n");
    }
    for at in 0..LINKS.min(rows) {
        let row = at * rows / LINKS.min(rows);
        let width = WIDTH / LINKS.min(rows);
        let _ = writeln!(
            text,
            "<a href=\"#row{row}\"><title>step {}</title><rect class=\"link\" x=\"{}\" width=\"{width}\" \
             height=\"{height}\"/></a>",
            picture.rows.get(row).map_or(0, |event| event.step),
            at * WIDTH / LINKS.min(rows),
        );
    }
    text.push_str("</svg>\n");
}

/// Draws the names above the lanes.
fn lanes(text: &mut String, picture: &Picture<'_>) {
    let width = picture.width() + picture.texts;
    let longest = picture.threads.iter();
    let longest = longest.map(|(id, name)| format!("{id} {name}").chars().count());
    // The names lean by 60 degrees.
    let height = pixels(longest.max().unwrap_or(0)) * 87 / 100 + 8;
    let foot = height - 4;
    let _ = writeln!(
        text,
        "<svg class=\"lanes\" width=\"{width}\" height=\"{height}\">"
    );
    for (id, name) in &picture.threads {
        let x = picture.x(*id);
        let _ = writeln!(
            text,
            "<text transform=\"translate({x} {foot}) rotate(-60)\">{id} {}</text>",
            escaped(name)
        );
    }
    text.push_str("</svg>\n");
}

/// Draws rows from `start` on.
fn part(
    text: &mut String,
    picture: &Picture<'_>,
    bars: &[(usize, usize, usize, usize)],
    start: usize,
    outcome: &Outcome,
    choices: &[Explained],
) {
    let end = (start + PART).min(picture.rows.len());
    let (width, height) = (picture.width() + picture.texts, (end - start) * ROW);
    let _ = writeln!(
        text,
        "<div class=\"part\" style=\"contain-intrinsic-size: {width}px {height}px\"><svg width=\"{width}\" \
         height=\"{height}\">"
    );
    let is_last = |row: usize| row + 1 == picture.rows.len();
    if is_last(end - 1) {
        let _ = writeln!(
            text,
            "<rect class=\"last\" id=\"end\" y=\"{}\" width=\"{width}\" height=\"{ROW}\"/>",
            height - ROW
        );
    }
    for row in start..end {
        if let Happening::Choice { decision, .. } = picture.rows[row].what {
            let _ = writeln!(
                text,
                "<rect class=\"choice\" id=\"choice{decision}\" y=\"{}\" width=\"{width}\" height=\"{ROW}\"/>",
                (row - start) * ROW
            );
        }
    }
    for (at, (class, thick, _)) in BARS.iter().enumerate() {
        let mut path = String::new();
        let inside = bars
            .iter()
            .take_while(|(_, _, from, _)| *from < end)
            .filter(|(_, bar, _, to)| *bar == at && *to > start);
        for (lane, _, from, to) in inside {
            let (from, to) = ((*from).max(start) - start, (*to).min(end) - start);
            let x = NUMBERS + lane * LANE + (LANE - thick) / 2;
            let (y, long) = (from * ROW, (to - from) * ROW);
            let _ = write!(path, "M{x} {y}h{thick}v{long}h-{thick}z");
        }
        if !path.is_empty() {
            let _ = writeln!(text, "<path class=\"bar-{class}\" d=\"{path}\"/>");
        }
    }
    let (mut lines, mut heads, mut texts) = (String::new(), String::new(), String::new());
    let rows = picture.rows.len();
    for row in start..end {
        let event = picture.rows[row];
        let y = (row - start) * ROW + ROW / 2;
        let by = match event.what {
            Happening::Ready { by: Some(by) } | Happening::Start { by } => Some(by),
            _ => None,
        };
        if let Some(by) = by.filter(|by| *by != event.thread) {
            let (from, to) = (picture.x(by), picture.x(event.thread));
            // The head lies before the lane that it points to.
            let back = if from < to { -7 } else { 7 };
            let neck = to.saturating_add_signed(back);
            let _ = write!(lines, "M{from} {y}H{neck}");
            let _ = write!(heads, "M{to} {y}L{neck} {}V{}z", y - 4, y + 4);
        }
        let links = LINKS.min(rows);
        let id = match row * links / rows {
            at if at * rows / links == row || (at + 1) * rows / links == row => {
                format!(" id=\"row{row}\"")
            }
            _ => String::new(),
        };
        let first_of_step = row == 0 || picture.rows[row - 1].step != event.step;
        if first_of_step {
            let _ = write!(
                texts,
                "<text class=\"dim\" x=\"4\" y=\"{}\">{}</text>",
                y + 4,
                event.step
            );
        }
        let class = match event.what {
            // Dim text on the colour of the last step has too little contrast.
            _ if is_last(row) => "",
            Happening::Call { .. } | Happening::Choice { .. } => "",
            Happening::Fault(_) => " class=\"fault\"",
            _ => " class=\"dim\"",
        };
        let mut told = match event.what {
            Happening::Choice { decision, .. } => chosen(decision, choices),
            _ => format!("{} {}", event.thread, told(&event.what)),
        };
        if is_last(row) {
            let _ = write!(told, "   ← the last step: {}", outcome.verdict);
        }
        let _ = writeln!(
            texts,
            "<text{id}{class} x=\"{}\" y=\"{}\">{}</text>",
            picture.width() + 8,
            y + 4,
            escaped(&told)
        );
    }
    let _ = writeln!(
        text,
        "<path class=\"arrow\" d=\"{lines}\"/><path class=\"head\" d=\"{heads}\"/>\n{texts}</svg></div>"
    );
}

/// Returns the text of the row of a choice.
fn chosen(decision: u32, choices: &[Explained]) -> String {
    let at = choices
        .iter()
        .position(|choice| choice.decision == decision);
    let Some(at) = at else { return String::new() };
    format!(
        "◆ choice {} of {}: {}",
        at + 1,
        choices.len(),
        choices[at].what
    )
}

/// Returns what happened to a thread, after its number.
fn told(what: &Happening) -> String {
    match what {
        Happening::Call { name, .. } if name == choices::BETWEEN => {
            "is interrupted between two calls".to_owned()
        }
        Happening::Call { name, object } => match object {
            Some(object) => format!("{name} {object:#x}"),
            None => name.clone(),
        },
        Happening::Wait { kind, object } => wait(kind, *object),
        Happening::WaitAgain {
            kind,
            object,
            faster,
        } => format!("{} again: {faster} was faster", wait(kind, *object)),
        Happening::Ready { by: Some(by) } => format!("is woken by {by}"),
        Happening::Ready { by: None } => "has waited for its time".to_owned(),
        Happening::Start { by } => format!("is started by {by}"),
        Happening::End => "ends".to_owned(),
        Happening::Fault(family) => format!("fault: {family}"),
        _ => String::new(),
    }
}

fn wait(kind: &str, object: u64) -> String {
    match kind {
        "a time" => "sleeps".to_owned(),
        "a signal" => "waits for a signal".to_owned(),
        "the end of a thread" | "a descriptor" => format!("waits for {kind}, {object}"),
        _ => format!("waits for {kind} at {object:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use blitz_io_sim::{Choice, Faults, Verdict};

    use super::*;

    fn outcome(verdict: Verdict) -> Outcome {
        Outcome {
            stepped: 0,
            verdict,
            report: String::new(),
            output: vec![],
            hash: 0,
            checkpoints: vec![],
            decisions: vec![],
            points: 0,
            nanoseconds: 0,
            loops: vec![],
            threads: 2,
            opportunities: Faults::NONE,
            is_random: false,
        }
    }

    fn event(step: u64, thread: u32, what: Happening) -> Event {
        Event {
            step,
            nanoseconds: 0,
            thread,
            what,
        }
    }

    fn call(step: u64, thread: u32) -> Event {
        let name = "pthread_mutex_lock".to_owned();
        let object = Some(0x1000);
        event(step, thread, Happening::Call { name, object })
    }

    #[test]
    fn a_thread_runs_could_run_and_waits_in_its_lane() {
        let kind = "a mutex";
        let events = [
            call(1, 0),
            event(1, 4, Happening::Start { by: 0 }),
            event(1, 4, Happening::Name("<worker>".to_owned())),
            event(1, 0, Happening::Name("modules::of::a_".to_owned())),
            call(2, 4),
            event(
                2,
                4,
                Happening::Choice {
                    decision: 5,
                    choice: Choice::Interrupts { after: 1 },
                },
            ),
            event(2, 4, Happening::Wait { kind, object: 1 }),
            call(3, 0),
            event(3, 4, Happening::Ready { by: Some(0) }),
            event(
                3,
                4,
                Happening::WaitAgain {
                    kind,
                    object: 1,
                    faster: 0,
                },
            ),
            event(4, 0, Happening::End),
        ];
        let mut picture = Picture::new(&events, true);
        picture.bars.sort_unstable();
        // Lane, bar, rows.
        assert_eq!(
            picture.bars,
            [
                (0, 0, 0, 2),
                (0, 0, 5, 8),
                (0, 1, 2, 5),
                (1, 0, 2, 4),
                (1, 1, 1, 2),
                (1, 1, 6, 7),
                (1, 2, 4, 6),
                (1, 2, 7, 9)
            ]
        );
        let recording = Recording {
            events: events.to_vec(),
            is_cut_off: false,
        };
        let choices = [Explained {
            decision: 5,
            step: 2,
            what: "thread 4 loses <it>".to_owned(),
            places: vec!["thread 4: f at src/lib.rs:7".to_owned()],
        }];
        let name = "modules::of::a_test_with_a_long_name";
        let program = Program::new("/a/b-0123", ["--exact", name]);
        let page = page(&program, &outcome(Verdict::Deadlock), &recording, &choices);
        for part in [
            "<title>b::modules::of::a_test_with_a_long_name: deadlock</title>",
            "4 &lt;worker&gt;</text>",
            ">0 modules::of::a_test_with_a_long_name</text>",
            "<h2>What makes it fail</h2>",
            "<a href=\"#choice5\">Step 2</a>: thread 4 loses &lt;it&gt;",
            "thread 4: f at src/lib.rs:7",
            "<rect class=\"choice\" id=\"choice5\" y=\"48\"",
            "◆ choice 1 of 1: thread 4 loses",
            "is woken by 0",
            "the last step: deadlock",
            "waits for a mutex at 0x1 again: 0 was faster",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("<script") && !page.contains("http"));
    }

    #[test]
    fn ten_thousand_events_are_a_page_of_some_megabytes() {
        let events: Vec<Event> = (0..10_000u32).map(|at| call(at.into(), at % 8)).collect();
        let recording = Recording {
            events,
            is_cut_off: false,
        };
        let program = Program::new("b", [""; 0]);
        let page = page(&program, &outcome(Verdict::Livelock), &recording, &[]);
        assert!(page.len() < 3_000_000, "{}", page.len());
        assert_eq!(page.matches("pthread_mutex_lock").count(), 10_000);
        // Each link of the overview has its row.
        for link in page.split("href=\"#").skip(1) {
            let name = link.split('"').next().unwrap();
            assert!(page.contains(&format!("id=\"{name}\"")), "{name}");
        }
    }
}
