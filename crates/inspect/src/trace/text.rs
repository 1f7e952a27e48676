//! The report for people.

use std::fmt::Write as _;

use super::cause::Category;
use super::contended::{Contended, Share};
use super::held::Held;
use super::path::Node;
use super::polls::LongestPoll;
use super::report::{Elsewhere, Report, Split};
use super::tasks::Tasks;

/// The number of causes and objects that the text has.
const ROWS: usize = 8;
/// Of polls that take this many nanoseconds, the recorder reads the counters of the thread.
const COUNTED: u64 = 1_000_000;

impl Report {
    /// Returns the report for people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        let count = self.all.count;
        _ = writeln!(
            text,
            "{count} request{} in {}, {} unfinished; {} events{}",
            if count == 1 { "" } else { "s" },
            time(self.nanos),
            self.unfinished,
            self.events,
            match self.lost {
                0 => String::new(),
                lost => format!(", {lost} older ones lost"),
            }
        );
        if self.pids.len() > 1 {
            let pids: Vec<String> = self.pids.iter().map(u32::to_string).collect();
            _ = writeln!(text, "of the processes {}", pids.join(", "));
        }
        if count == 0 {
            tasks(&mut text, &self.tasks);
            let title = "What tasks and threads waited for, because others used it";
            objects(&mut text, title, &self.objects, self.nanos);
            match self.unfinished {
                0 => text += NO_REQUESTS,
                unfinished => {
                    _ = writeln!(
                        text,
                        "\nNo request has ended, so the report is about tasks. Record for longer: {unfinished} had begun."
                    );
                }
            }
            return text;
        }
        self.latencies(&mut text);
        self.categories(&mut text);
        causes(&mut text, &self.slowest);
        let title = "What cost all requests most";
        objects(&mut text, title, &self.objects, self.nanos);
        text += "\nThe slowest requests\n";
        for node in &self.paths {
            request(&mut text, node);
        }
        text
    }

    fn latencies(&self, text: &mut String) {
        let width = self.requests.iter().map(|r| r.name.chars().count());
        let width = width.max().unwrap_or(0).clamp(8, 40);
        _ = writeln!(
            text,
            "\n{:width$} {:>7} {:>9} {:>9} {:>9} {:>9}",
            "", "count", "p50", "p90", "p99", "max"
        );
        for one in &self.requests {
            _ = writeln!(
                text,
                "{:width$} {:>7} {:>9} {:>9} {:>9} {:>9}",
                one.name,
                one.count,
                time(one.p50),
                time(one.p90),
                time(one.p99),
                time(one.max)
            );
        }
    }

    fn categories(&self, text: &mut String) {
        let slow = &self.slowest;
        let these = match slow.count {
            1 => "the slowest one".to_owned(),
            count => format!("the slowest {count}, from {}", time(slow.from)),
        };
        _ = writeln!(
            text,
            "\n{:16} {:>18}   {these:>18}",
            "Where time went", "all requests"
        );
        for category in Category::ALL {
            let of = |split: &Split| {
                let mut all = split.categories.iter();
                let found = all.find(|(other, _)| *other == category);
                found.map_or(0, |(_, nanos)| *nanos)
            };
            let (all, slowest) = (of(&self.all), of(slow));
            if all != 0 {
                _ = writeln!(
                    text,
                    "  {:14} {:>9} {:>8}   {:>9} {:>8}",
                    category.name(),
                    time(all),
                    percent(all, self.all.nanos),
                    time(slowest),
                    percent(slowest, slow.nanos)
                );
            }
        }
        self.elsewhere(text);
        if let Some(line) = self.longest_poll_text() {
            _ = writeln!(text, "\n{line}");
        }
    }

    /// Returns the sentence about the longest poll. Shorter ones than a millisecond have no counters, and hardly delay another
    /// task.
    #[must_use]
    pub fn longest_poll_text(&self) -> Option<String> {
        let poll = (self.longest_poll.as_ref()).filter(|poll| poll.nanos >= COUNTED)?;
        Some(longest(poll))
    }

    fn elsewhere(&self, text: &mut String) {
        if self.all.elsewhere.is_empty() {
            return;
        }
        text.push_str("Of that, in other processes\n");
        for one in self.all.elsewhere.iter().take(ROWS) {
            let is_same =
                |other: &&Elsewhere| (other.pid, other.is_recorded) == (one.pid, one.is_recorded);
            let slowest = self.slowest.elsewhere.iter().find(is_same);
            let slowest = slowest.map_or(0, |slowest| slowest.nanos);
            let pid = match one.pid {
                0 => "others".to_owned(),
                pid => format!("process {pid}"),
            };
            let note = if one.is_recorded {
                ""
            } else {
                "  not recorded"
            };
            _ = writeln!(
                text,
                "  {pid:14} {:>9} {:>8}   {:>9} {:>8}{note}",
                time(one.nanos),
                percent(one.nanos, self.all.nanos),
                time(slowest),
                percent(slowest, self.slowest.nanos)
            );
        }
    }
}

const NO_REQUESTS: &str = "
The program marks no request: with them, the report says how long
each one took, and what the slowest ones waited for. Let it say where one begins and ends:

    let _request = blitz_io::trace::request(\"GET /x\");
    blitz_io::trace::request(\"GET /x\").instrument(future).await

Or make a request of each call of axum, tonic or hyper (feature `tower`):

    .layer(blitz_io::trace::RequestLayer::http())
";

/// The number of waits that the text has for one line.
const WAITS: usize = 3;

/// Writes what the tasks of each line did.
fn tasks(text: &mut String, lines: &[Tasks]) {
    if lines.is_empty() {
        return;
    }
    _ = writeln!(
        text,
        "\nTasks, by the line that spawned them\n{:>11} {:>9} {:>9} {:>12} {:>12}",
        "number", "running", "runnable", "longest poll", "it ran for"
    );
    for line in lines.iter().take(ROWS) {
        let at = match &*line.at {
            "" => String::new(),
            at => format!(" at {at}"),
        };
        _ = writeln!(
            text,
            "{:>11} {:>9} {:>9} {:>12} {:>12}  {}{at}",
            line.count,
            time(line.nanos(Category::Running)),
            time(line.nanos(Category::Runnable)),
            time(line.longest_poll),
            time(line.longest_poll_running),
            line.what
        );
        for wait in line.waits.iter().take(WAITS) {
            let count = match wait.cause.count {
                1 => "1 wait".to_owned(),
                count => format!("{count} waits, longest {}", time(wait.max)),
            };
            _ = writeln!(
                text,
                "{:14}{} in {count}: {}",
                "",
                time(wait.cause.nanos),
                named(&wait.cause)
            );
        }
    }
    if let more @ 1.. = lines.len().saturating_sub(ROWS) {
        _ = writeln!(text, "{:14}{more} more lines: --json", "");
    }
}

fn causes(text: &mut String, slowest: &Split) {
    text.push_str("\nWhat the slowest spent it on\n");
    for (at, share) in slowest.causes.iter().take(ROWS).enumerate() {
        _ = writeln!(
            text,
            "{:>3}. {:>7} {:>9}  {}",
            at + 1,
            percent(share.nanos, slowest.nanos),
            time(share.nanos),
            named(share)
        );
    }
}

/// `nanos`: the time that the recording covers.
fn objects(text: &mut String, title: &str, objects: &[Contended], nanos: u64) {
    if objects.is_empty() {
        return;
    }
    _ = writeln!(
        text,
        "\n{title}\n{:>11} {:>7} {:>9} {:>9} {:>9}",
        "time", "waits", "p50", "p99", "max"
    );
    for object in objects.iter().take(ROWS) {
        _ = writeln!(
            text,
            "{:>11} {:>7} {:>9} {:>9} {:>9}  {}",
            time(object.cause.nanos),
            object.cause.count,
            time(object.p50),
            time(object.p99),
            time(object.max),
            named(&object.cause)
        );
        if let Some(held) = &object.held {
            // By Little's law, the time that all waited is the number of those that wait, for the whole time.
            let queue = object.cause.nanos as f64 / nanos.max(1) as f64;
            limit(text, held, queue);
        }
    }
}

/// Says how an object was used, the limit that follows, and how many requests wait for it on average.
fn limit(text: &mut String, held: &Held, queue: f64) {
    let owners = match held.most {
        1 => format!("held {}", time(held.mean)),
        most => format!("{most} at once, held {} each", time(held.mean)),
    };
    let until = if held.until_added {
        ", forgotten permits until as many are added"
    } else {
        ""
    };
    _ = writeln!(
        text,
        "{:39}   {owners} ({} times{until}): at most {} a second, {} % used{}; {queue:.1} wait on average",
        "",
        held.times,
        held.limit,
        held.used,
        if held.is_saturated() {
            ": saturated"
        } else {
            ""
        }
    );
}

/// Returns the cause, its line, and who is behind it.
fn named(share: &Share) -> String {
    let mut text = share.category.name().to_owned();
    if !share.what.is_empty() {
        _ = write!(text, " {}", share.what);
    }
    if !share.at.is_empty() {
        let comma = if share.what.contains(" created at ") {
            ","
        } else {
            ""
        };
        _ = write!(text, "{comma} at {}", share.at);
    }
    if let Some(behind) = &share.behind {
        _ = write!(text, ", behind {behind}");
    }
    text
}

fn request(text: &mut String, node: &Node) {
    _ = write!(text, "\n{}, {}", node.what, time(node.nanos));
    if let Some(by) = &node.behind {
        _ = write!(text, ", in {by}");
    }
    text.push('\n');
    parts(text, &node.parts, "");
}

fn parts(text: &mut String, nodes: &[Node], before: &str) {
    for (at, node) in nodes.iter().enumerate() {
        let is_last = at + 1 == nodes.len();
        let (branch, below) = if is_last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        _ = write!(text, "{before}{branch}{} {}", time(node.nanos), node.what);
        if node.count > 1 {
            _ = write!(text, ", {} times", node.count);
        }
        if !node.at.is_empty() {
            _ = write!(text, ", at {}", node.at);
        }
        if let Some(by) = &node.behind {
            _ = write!(text, ", behind {by}");
        }
        if node.behind.is_some() && !node.parts.is_empty() {
            text.push_str(", which meanwhile did");
        }
        text.push('\n');
        parts(text, &node.parts, &format!("{before}{below}"));
    }
}

/// Returns the sentence about the longest poll.
pub(super) fn longest(poll: &LongestPoll) -> String {
    let of = match &poll.request {
        Some(request) => format!("{request}, {}", poll.task),
        None => poll.task.clone(),
    };
    format!(
        "The longest poll took {}, and ran for {} of it: {of}",
        time(poll.nanos),
        time(poll.running)
    )
}

/// Returns a time in three digits or more.
#[must_use]
pub fn time(nanos: u64) -> String {
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        1_000..1_000_000 => format!("{:.1} µs", nanos as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", nanos as f64 / 1e6),
        _ => format!("{:.2} s", nanos as f64 / 1e9),
    }
}

fn percent(part: u64, of: u64) -> String {
    format!("{:.1} %", part as f64 * 100.0 / of.max(1) as f64)
}
