//! `Report`: where the requests of a recording waited, as plain data.

use std::collections::HashMap;

use serde::Serialize;

use super::cause::Category;
use super::contended::{BUCKETS, Contended, Share, contended, histogram, quantile, share, waits};
use super::lives::{Lives, Request};
use super::path::{Node, Paths};
use super::polls::{LongestPoll, longest_poll};
use super::recording::{Recording, sum};
use super::split::{Piece, Splitter, by_cause};
use super::tasks::{Tasks, tasks};

/// Where the requests of a recording waited.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The command line of the process, or of the first one.
    pub command: String,
    /// The numbers of the recorded processes.
    pub pids: Vec<u32>,
    /// The time that the recording covers, in nanoseconds.
    pub nanos: u64,
    /// Number of events.
    pub events: usize,
    /// Number of events that are missing.
    pub lost: u64,
    /// Number of requests that had not ended.
    pub unfinished: usize,
    /// The latencies, by the names of requests.
    pub requests: Vec<Latencies>,
    /// Where the time of all requests went.
    pub all: Split,
    /// Where the time of the slowest percentile went.
    pub slowest: Split,
    /// The longest poll.
    pub longest_poll: Option<LongestPoll>,
    /// The objects for which requests waited, those first that cost them the most time. Without a request, those for which
    /// tasks and threads waited because others used them.
    pub objects: Vec<Contended>,
    /// The time of the tasks, if no request has ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<Tasks>,
    /// The slowest requests.
    pub paths: Vec<Node>,
}

/// The latencies of requests that have the same name, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Latencies {
    /// The name.
    pub name: String,
    /// Number of requests.
    pub count: usize,
    /// Half of the requests took no longer.
    pub p50: u64,
    /// 90 % of them.
    pub p90: u64,
    /// 99 % of them.
    pub p99: u64,
    /// The slowest one.
    pub max: u64,
    /// Numbers of requests by latency; see [`BUCKETS`].
    pub histogram: [u64; BUCKETS],
}

/// Where the time of some requests went.
#[derive(Clone, Debug, Serialize)]
pub struct Split {
    /// Number of requests.
    pub count: usize,
    /// The latency of the fastest of them, in nanoseconds.
    pub from: u64,
    /// The sum of their latencies, in nanoseconds.
    pub nanos: u64,
    /// The sum for each category, the greatest first.
    pub categories: Vec<(Category, u64)>,
    /// The causes, those first that took the most time; 50 at most.
    pub causes: Vec<Share>,
    /// The part of the time in other processes, the greatest first. It is in the categories, too.
    pub elsewhere: Vec<Elsewhere>,
}

/// The time that requests spent in another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Elsewhere {
    /// The number of the process; 0 if it may be one of several.
    pub pid: u32,
    /// There is a recording of it, which says what it did.
    pub is_recorded: bool,
    /// The time, in nanoseconds.
    pub nanos: u64,
}

/// The number of causes that a report has.
const CAUSES: usize = 50;
/// The number of objects that a report has.
const OBJECTS: usize = 20;

/// Judges a recording. `paths`: the number of requests that the report shows one by one.
///
/// ```
/// use blitz_io_inspect::trace::{Recording, judge};
///
/// // A request of task 1 that runs for one millisecond, and then sleeps for three.
/// let text = r#"{"format":1,"kinds":["Sleep"],"names":["GET /x"],"locations":["src/main.rs:7"],"events":[
///     [1,0,0,0,3,2,0], [13,0,0,1,3,1,0],
///     [4,1000000,0,0,3,0,1], [2,1000000,0,0,3,2,0], [9,4000000,1,0,3,2,0],
///     [1,4000000,0,0,3,2,0], [8,4000000,0,0,3,0,1], [14,4000000,0,0,3,1,0]]}"#;
/// let report = judge(&Recording::parse(text.as_bytes())?, 1);
/// assert_eq!(report.requests[0].max, 4_000_000);
/// let first = &report.slowest.causes[0];
/// assert_eq!((first.category.name(), first.nanos), ("timer", 3_000_000));
/// assert_eq!(first.at, "src/main.rs:7");
/// # Ok::<(), blitz_io_inspect::trace::ParseError>(())
/// ```
#[must_use]
pub fn judge(recording: &Recording, paths: usize) -> Report {
    let lives = Lives::new(recording);
    let splitter = Splitter::new(recording, &lives);
    let requests = slowest_first(&lives, &splitter);
    let slow = requests.len().div_ceil(100);
    let split = |requests: &[(&Request, Vec<Piece>)]| Split::new(recording, &lives, requests);
    let shown = requests.iter().take(paths);
    let tree = Paths::new(splitter);
    let (tasks, objects) = if requests.is_empty() {
        tasks(recording, &lives)
    } else {
        let pieces: Vec<Piece> = requests.iter().flat_map(|one| waits(&one.1)).collect();
        (vec![], contended(recording, &lives, pieces, OBJECTS))
    };
    Report {
        command: recording.command.clone(),
        pids: recording.pids.clone(),
        nanos: recording.duration(),
        events: recording.len(),
        lost: recording.lost,
        unfinished: lives.unfinished,
        requests: latencies(recording, &lives.requests),
        all: split(&requests),
        slowest: split(&requests[..slow]),
        longest_poll: longest_poll(recording, &lives, &requests),
        objects,
        tasks,
        paths: shown
            .map(|(request, pieces)| tree.request(request, pieces))
            .collect(),
    }
}

/// Returns the requests with their pieces: the slowest first, and of equal ones the earliest.
pub(super) fn slowest_first<'a>(
    lives: &'a Lives,
    splitter: &Splitter<'_>,
) -> Vec<(&'a Request, Vec<Piece>)> {
    let requests = lives.requests.iter();
    let mut requests: Vec<(&Request, Vec<Piece>)> = requests
        .map(|request| (request, splitter.request(request)))
        .collect();
    requests.sort_by_key(|(request, _)| (std::cmp::Reverse(latency(request)), request.from));
    requests
}

fn latency(request: &Request) -> u64 {
    request.to - request.from
}

fn latencies(recording: &Recording, requests: &[Request]) -> Vec<Latencies> {
    let mut by_name: HashMap<&str, Vec<u64>> = HashMap::new();
    for request in requests {
        let name = recording.name(request.name);
        by_name.entry(name).or_default().push(latency(request));
    }
    let mut all: Vec<Latencies> = by_name
        .into_iter()
        .map(|(name, mut times)| {
            times.sort_unstable();
            Latencies {
                name: name.to_owned(),
                count: times.len(),
                p50: quantile(&times, 50),
                p90: quantile(&times, 90),
                p99: quantile(&times, 99),
                max: quantile(&times, 100),
                histogram: histogram(&times),
            }
        })
        .collect();
    all.sort_by(|one, other| (other.p99, &one.name).cmp(&(one.p99, &other.name)));
    all
}

impl Split {
    fn new(recording: &Recording, lives: &Lives, requests: &[(&Request, Vec<Piece>)]) -> Self {
        let pieces: Vec<Piece> = requests
            .iter()
            .flat_map(|(_, pieces)| pieces.iter().copied())
            .collect();
        let mut categories: Vec<(Category, u64)> = Category::ALL
            .into_iter()
            .map(|category| {
                let own = pieces.iter().filter(|p| p.cause.category == category);
                (category, sum(own.map(Piece::nanos)))
            })
            .filter(|(_, nanos)| *nanos != 0)
            .collect();
        categories.sort_by_key(|(_, nanos)| std::cmp::Reverse(*nanos));
        let causes = by_cause(recording, &pieces).into_iter().take(CAUSES);
        let elsewhere = elsewhere(&pieces);
        Self {
            elsewhere,
            count: requests.len(),
            from: requests.last().map_or(0, |(request, _)| latency(request)),
            nanos: sum(requests.iter().map(|(request, _)| latency(request))),
            categories,
            causes: causes
                .map(|(cause, nanos, count)| share(recording, lives, &pieces, cause, nanos, count))
                .collect(),
        }
    }

    /// Returns the part of the time of which the recording says where it went, from 0 to 1.
    #[must_use]
    pub fn attributed(&self) -> f64 {
        let mut categories = self.categories.iter();
        let other = categories.find(|(category, _)| *category == Category::Other);
        1.0 - other.map_or(0, |(_, nanos)| *nanos) as f64 / self.nanos.max(1) as f64
    }
}

/// Returns the time of these pieces in other processes.
fn elsewhere(pieces: &[Piece]) -> Vec<Elsewhere> {
    let mut sums: HashMap<(u32, bool), u64> = HashMap::new();
    for piece in pieces {
        let is_recorded = piece.cause.category != Category::Process;
        if piece.cause.process != 0 || !is_recorded {
            let sum = sums.entry((piece.cause.process, is_recorded)).or_insert(0);
            *sum = sum.saturating_add(piece.nanos());
        }
    }
    let mut all: Vec<Elsewhere> = sums
        .into_iter()
        .map(|((pid, is_recorded), nanos)| Elsewhere {
            pid,
            is_recorded,
            nanos,
        })
        .collect();
    all.sort_by_key(|one| (std::cmp::Reverse(one.nanos), one.pid));
    all
}
