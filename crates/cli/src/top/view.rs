//! `View`: what the page shows, as plain data, made of one answer or two successive ones.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use blitz_io_inspect::{
    Answer, Certainty, Chains, Contention, Fill, Finding, Kind, Mode, Object, Resource, Runtime,
    Snapshot, Task, TaskState, Wait, Waiter, Worker, activity_of_thread, alike, is_of_package,
    of_object, of_target, of_waiter, short_place,
};
use serde::Serialize;

/// A list has at most so many rows, of however many there are.
const LISTED: usize = 100;

/// The view of a process in `blitz top`.
#[derive(Debug, Serialize)]
pub struct View {
    pub pid: u32,
    pub program: String,
    /// One sentence for each, and whether it is certain.
    pub findings: Vec<Judged>,
    pub tasks: States,
    /// `None` if the version of the process does not say.
    pub runtimes: Option<Vec<RuntimeView>>,
    /// Counts of the workers that wait within a poll and so run no other task, by the target of the wait.
    pub blocked: Vec<Blocked>,
    /// The polls of tasks that last at the moment, the longest first.
    pub polls: Vec<Poll>,
    /// The waits in the order of their ranks (findings; locks, permits and room; replies; others; sockets; messages for packages),
    /// and the longest first within a rank. Of waits that are alike, the first.
    pub waits: Vec<WaitView>,
    /// The waits of which a program without work has some, by kind. They are not in `waits`.
    pub idle: Vec<Idle>,
    /// `None` if the version of the process does not say.
    pub channels: Option<Vec<Channel>>,
    /// The objects of findings, then those for which threads and tasks have waited longest, without those that only wait
    /// for messages or time. `None` if the version of the process does not say.
    pub contention: Option<Vec<Contended>>,
    /// The objects that have cost most since the last look, the costliest first. `None` without an earlier look.
    pub costliest: Option<Vec<Costly>>,
    pub lengths: Lengths,
}

/// The lengths of the full lists.
#[derive(Debug, Default, Serialize)]
pub struct Lengths {
    pub waits: usize,
    pub channels: usize,
    pub contention: usize,
}

#[derive(Debug, Serialize)]
pub struct Judged {
    pub is_certain: bool,
    pub kind: String,
    pub summary: String,
}

/// The number of tasks in each state.
#[derive(Debug, Default, Serialize)]
pub struct States {
    pub running: usize,
    pub scheduled: usize,
    pub idle: usize,
}

#[derive(Debug, Serialize)]
pub struct RuntimeView {
    pub id: u64,
    pub workers: usize,
    pub busy_workers: usize,
    /// The part of their time that the workers were busy since the last look.
    pub busy_share: Option<f64>,
    pub polls: u64,
    /// The rate since the last look.
    pub polls_per_second: Option<f64>,
    /// The moving average that each worker keeps of its last polls, weighted by the polls of the workers. Long polls a
    /// moment ago outweigh many short ones before.
    pub mean_poll_ns: u64,
    /// Pairs of the upper end in nanoseconds and the count; empty without that histogram.
    pub poll_times: Vec<(u64, u64)>,
    pub queued: usize,
    pub spawned_tasks: u64,
    pub blocking_threads: usize,
    pub idle_blocking_threads: usize,
    pub blocking_queue: usize,
}

#[derive(Debug, Serialize)]
pub struct Poll {
    pub task: String,
    pub location: String,
    /// The activity of the thread, as the system reports it, if the poll has taken long.
    pub does: Option<String>,
    pub ms: u64,
}

#[derive(Debug, Serialize)]
pub struct WaitView {
    pub waiter: String,
    pub target: String,
    pub location: String,
    /// 0 if [`is_of_unknown_time`](Self::is_of_unknown_time).
    pub waiting_ms: u64,
    /// The wait has no record, so nothing says when it began.
    pub is_of_unknown_time: bool,
    /// Number of other waits like this one.
    pub more: usize,
    /// The wait, what it waits for, what that waits for, and so on.
    pub chain: Vec<String>,
}

/// Workers that wait within a poll.
#[derive(Debug, Serialize)]
pub struct Blocked {
    /// The target of their wait, with its line if that is known.
    pub what: String,
    pub workers: usize,
}

/// Idle waits of one kind.
#[derive(Debug, Serialize)]
pub struct Idle {
    /// The kind, such as `Sleep`, or the use of a source, such as `accept`.
    pub what: String,
    pub count: usize,
}

#[derive(Debug, Serialize)]
pub struct Channel {
    pub name: String,
    pub used: usize,
    pub capacity: Option<usize>,
    /// Number of other channels of the same line that are as full.
    pub more: usize,
}

#[derive(Debug, Serialize)]
pub struct Contended {
    /// Identifies the object while it exists.
    pub id: u64,
    /// The kind, and the name or else the line that created it.
    pub name: String,
    pub kind: String,
    pub location: String,
    /// The time of the waits that have ended and of those that last.
    pub waited_ns: u64,
    /// The number of waits that have ended.
    pub waits: u64,
    /// The number of waits that last.
    pub waiting: usize,
    /// See [`Contention::buckets`].
    pub buckets: Vec<u64>,
}

/// The present cost of an object.
#[derive(Debug, Serialize)]
pub struct Costly {
    /// The kind, and the name or else the line that created it.
    pub name: String,
    pub location: String,
    /// The time that threads and tasks have waited for it in each second: how many wait on average.
    pub waiters: f64,
}

/// Number of objects that are shown as the costliest ones.
const COSTLIEST: usize = 3;

impl View {
    /// `earlier` gives the rates.
    pub fn new(earlier: Option<&Answer>, answer: &Answer, program: &str) -> Self {
        let snapshot = &answer.snapshot;
        let earlier = earlier.map(|answer| &answer.snapshot);
        let findings = answer.findings.iter().map(|finding| Judged {
            is_certain: finding.certainty == Certainty::Certain,
            kind: finding.kind.clone(),
            summary: finding.summary.clone(),
        });
        let runtimes = snapshot.runtimes.as_deref();
        let objects = snapshot.objects.as_deref();
        let channels = objects.map(|objects| channels(snapshot, objects));
        let contention = objects.map(|objects| {
            let mut all = contention(snapshot, objects);
            let found = objects_of(&answer.findings);
            all.sort_by_key(|contended| !found.contains(&contended.id));
            all
        });
        let costliest = earlier.and_then(|earlier| costliest(earlier, snapshot));
        let (ranked, idle) = ranked(snapshot, &answer.findings);
        let lengths = Lengths {
            waits: ranked.len(),
            channels: channels.as_ref().map_or(0, Vec::len),
            contention: contention.as_ref().map_or(0, Vec::len),
        };
        Self {
            pid: snapshot.pid,
            program: program.to_owned(),
            findings: findings.collect(),
            tasks: states(snapshot),
            runtimes: runtimes.map(|all| {
                let view = |runtime| runtime_view(earlier, snapshot.at_ms, runtime);
                all.iter().map(view).collect()
            }),
            blocked: blocked(snapshot),
            polls: polls(snapshot),
            waits: waits(snapshot, ranked),
            idle,
            channels: channels.map(first),
            contention: contention.map(first),
            costliest,
            lengths,
        }
    }
}

/// Returns the objects for which threads and tasks have waited most between two looks.
fn costliest(earlier: &Snapshot, now: &Snapshot) -> Option<Vec<Costly>> {
    let nanos = now.at_ms.checked_sub(earlier.at_ms)? as f64 * 1e6;
    let before: HashMap<_, u64> = contention(earlier, earlier.objects.as_deref()?)
        .into_iter()
        .map(|object| ((object.id, object.kind), object.waited_ns))
        .collect();
    let mut all: Vec<(u64, Contended)> = contention(now, now.objects.as_deref()?)
        .into_iter()
        .map(|object| {
            let known = before.get(&(object.id, object.kind.clone()));
            let waited = object.waited_ns.saturating_sub(known.copied().unwrap_or(0));
            (waited, object)
        })
        .filter(|(waited, _)| *waited != 0)
        .collect();
    all.sort_by_key(|(waited, _)| Reverse(*waited));
    let costly = |(waited, object): (u64, Contended)| Costly {
        name: object.name,
        location: object.location,
        waiters: waited as f64 / nanos.max(1.0),
    };
    Some(all.into_iter().take(COSTLIEST).map(costly).collect())
}

fn states(snapshot: &Snapshot) -> States {
    let mut states = States::default();
    // The children that a task polls itself are a part of it.
    for task in snapshot.tasks.iter().filter(|task| !task.is_part()) {
        *match task.state {
            TaskState::Running => &mut states.running,
            TaskState::Scheduled => &mut states.scheduled,
            TaskState::Idle => &mut states.idle,
        } += 1;
    }
    states
}

fn runtime_view(earlier: Option<&Snapshot>, at_ms: u64, runtime: &Runtime) -> RuntimeView {
    let sum =
        |runtime: &Runtime, of: fn(&Worker) -> u64| runtime.workers.iter().map(of).sum::<u64>();
    let before = earlier.and_then(|snapshot| {
        let mut all = snapshot.runtimes.iter().flatten();
        let seconds = at_ms.saturating_sub(snapshot.at_ms) as f64 / 1e3;
        let before = all.find(|before| before.id == runtime.id)?;
        (seconds > 0.0).then_some((before, seconds))
    });
    let rate = |of: fn(&Worker) -> u64| {
        before.map(|(before, seconds)| {
            sum(runtime, of).saturating_sub(sum(before, of)) as f64 / seconds
        })
    };
    let workers = &runtime.workers;
    let polls = sum(runtime, |worker| worker.polls);
    let weighted = workers
        .iter()
        .map(|worker| worker.mean_poll_ns as f64 * worker.polls as f64);
    RuntimeView {
        id: runtime.id,
        workers: workers.len(),
        busy_workers: workers.iter().filter(|worker| worker.is_busy).count(),
        busy_share: before.map(|(before, seconds)| busy_share(before, runtime, seconds)),
        polls,
        polls_per_second: rate(|worker| worker.polls),
        mean_poll_ns: (weighted.sum::<f64>() / polls.max(1) as f64) as u64,
        poll_times: runtime.poll_times.clone(),
        queued: runtime.global_queue + workers.iter().map(|worker| worker.queued).sum::<usize>(),
        spawned_tasks: runtime.spawned_tasks,
        blocking_threads: runtime.blocking_threads,
        idle_blocking_threads: runtime.idle_blocking_threads,
        blocking_queue: runtime.blocking_queue,
    }
}

/// Returns the part of their time that the workers were busy between two looks, which are so many seconds apart.
fn busy_share(before: &Runtime, now: &Runtime, seconds: f64) -> f64 {
    let pairs = before.workers.iter().zip(&now.workers);
    let busy = pairs.map(
        |(before, now)| match now.busy_ns.saturating_sub(before.busy_ns) {
            // A worker counts its time when it goes to sleep. This one has not slept.
            0 if before.is_busy && now.is_busy => seconds,
            nanos => nanos as f64 / 1e9,
        },
    );
    let share = busy.sum::<f64>() / seconds / now.workers.len().max(1) as f64;
    // One look may have the time of several.
    share.min(1.0)
}

/// Returns the waits that keep workers in polls, those that keep most of them first. The future of a `block_on` and a closure
/// for blocking work keep a thread of their own.
fn blocked(snapshot: &Snapshot) -> Vec<Blocked> {
    let keeps_worker = |wait: &&Wait| {
        let task = wait.waiter.task().and_then(|id| snapshot.task(id));
        wait.blocks_thread && task.is_some_and(|task| !task.is_root)
    };
    let mut threads: HashSet<u64> = HashSet::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    // A thread that sleeps in one poll, in something without a record.
    for (task, does) in sleepers(snapshot) {
        if threads.insert(task.thread) {
            *counts.entry(does).or_default() += 1;
        }
    }
    for wait in snapshot.waits.iter().filter(keeps_worker) {
        if threads.insert(wait.thread) {
            // The address of a word without a record says nothing here.
            let target = match wait.semantics.mode {
                Mode::Unknown => wait.kind.clone(),
                _ => of_target(snapshot, wait),
            };
            let at = at_place(wait);
            *counts.entry(format!("{target}{at}")).or_default() += 1;
        }
    }
    let blocked = |(what, workers)| Blocked { what, workers };
    let mut all: Vec<Blocked> = counts.into_iter().map(blocked).collect();
    all.sort_by_key(|blocked| Reverse(blocked.workers));
    all
}

/// Returns the tasks that keep a thread which sleeps without a recorded wait, and the system call.
fn sleepers(snapshot: &Snapshot) -> Vec<(&Task, String)> {
    let is_recorded = |task: &Task| {
        let mut waits = snapshot.waits.iter();
        waits.any(|wait| wait.blocks_thread && wait.thread == task.thread)
    };
    let tasks = snapshot.tasks.iter();
    let polled = tasks.filter(|task| !task.is_root && task.poll_ms.is_some());
    let alone = polled.filter(|task| !is_recorded(task));
    let sleeps = alone.filter_map(|task| {
        let does = activity_of_thread(snapshot, task.thread)?;
        Some((task, does.strip_prefix("sleeps in ")?.to_owned()))
    });
    sleeps.collect()
}

fn polls(snapshot: &Snapshot) -> Vec<Poll> {
    let mut polls: Vec<Poll> = snapshot
        .tasks
        .iter()
        .filter_map(|task| {
            Some(Poll {
                task: of_waiter(snapshot, Waiter::Task(task.id)),
                location: task.location.clone(),
                does: activity_of_thread(snapshot, task.thread),
                ms: task.poll_ms?,
            })
        })
        .collect();
    polls.sort_by_key(|poll| Reverse(poll.ms));
    polls
}

/// Keeps the first rows of a list.
fn first<T>(mut list: Vec<T>) -> Vec<T> {
    list.truncate(LISTED);
    list
}

/// How much a wait says about a program that hangs or is slow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Rank {
    /// It is in a finding.
    Found,
    /// Others have what it waits for: a lock, a permit, or room in a channel.
    Contended,
    /// Others have to do something first: it waits for a reply, or the end of a task.
    Awaits,
    Other,
    /// It waits for a source of the operating system, such as a peer that may be idle.
    Source,
    /// A package, which is not the program itself, waits for a message, as the idle connections of a client do.
    Package,
    /// A program without work has it, too.
    Idle,
}

/// Returns the waits in the order of the page, and the idle ones by kind.
fn ranked<'a>(snapshot: &'a Snapshot, findings: &[Finding]) -> (Vec<(&'a Wait, usize)>, Vec<Idle>) {
    let found = findings.iter().flat_map(|finding| &finding.waits);
    let found: HashSet<u64> = found.map(|wait| wait.id).collect();
    let rank = |wait: &Wait| {
        if found.contains(&wait.id) {
            Rank::Found
        } else {
            rank(wait)
        }
    };
    let (idle, mut shown): (Vec<&Wait>, Vec<&Wait>) =
        (snapshot.waits.iter()).partition(|wait| rank(wait) == Rank::Idle);
    shown.sort_by_key(|wait| (rank(wait), Reverse(wait.waiting_ms)));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for wait in idle {
        *counts.entry(use_of(wait)).or_default() += 1;
    }
    let count = |(what, count): (&str, usize)| Idle {
        what: what.to_owned(),
        count,
    };
    let mut idle: Vec<Idle> = counts.into_iter().map(count).collect();
    idle.sort_by_key(|idle| Reverse(idle.count));
    (alike(snapshot, shown, rank), idle)
}

fn rank(wait: &Wait) -> Rank {
    match wait.semantics.mode {
        Mode::Other if wait.source.is_some() => match use_of(wait) {
            "accept" | "signal" => Rank::Idle,
            _ => Rank::Source,
        },
        Mode::Closed | Mode::Drive => Rank::Idle,
        // A thread that this library knows nothing of. One that keeps a task is shown.
        Mode::Unknown if wait.waiter.task().is_none() => Rank::Idle,
        _ if Kind::is_name_of_timer(&wait.kind) => Rank::Idle,
        Mode::Join | Mode::Queue | Mode::Meet => Rank::Awaits,
        _ if is_contention(&wait.kind) => Rank::Contended,
        _ if wait.kind == Kind::OneshotReceive.name() => Rank::Awaits,
        Mode::Receive if is_of_package(place_of(wait)) => Rank::Package,
        _ => Rank::Other,
    }
}

/// Returns the line of a wait, or else the one that created what it waits for.
fn place_of(wait: &Wait) -> &str {
    match &wait.object {
        Some(object) if wait.location.is_empty() => &object.created_at,
        _ => &wait.location,
    }
}

/// Returns the use of a source, such as `accept`, or the kind of a wait without one.
fn use_of(wait: &Wait) -> &str {
    match &wait.source {
        Some(source) if wait.kind != "signal" && wait.semantics.mode != Mode::Unknown => {
            source.split(' ').next().unwrap_or_default()
        }
        _ => &wait.kind,
    }
}

/// Returns the objects of the waits of findings.
fn objects_of(findings: &[Finding]) -> HashSet<u64> {
    let waits = findings.iter().flat_map(|finding| &finding.waits);
    let objects = waits.filter_map(|wait| wait.object.as_ref());
    objects.map(|object| object.id).collect()
}

fn waits(snapshot: &Snapshot, ranked: Vec<(&Wait, usize)>) -> Vec<WaitView> {
    let chains = Chains::new(snapshot);
    let view = |(wait, more): (&Wait, usize)| WaitView {
        waiter: of_waiter(snapshot, wait.waiter),
        target: of_target(snapshot, wait),
        location: wait.location.clone(),
        waiting_ms: wait.waiting_ms,
        is_of_unknown_time: wait.semantics.mode == Mode::Unknown,
        more,
        chain: chain_of(snapshot, &chains.from(wait)),
    };
    first(ranked).into_iter().map(view).collect()
}

/// Returns a chain of waits as sentences.
fn chain_of(snapshot: &Snapshot, (waits, last): &(Vec<&Wait>, Option<Waiter>)) -> Vec<String> {
    let mut lines: Vec<String> = waits.iter().map(|wait| sentence(snapshot, wait)).collect();
    lines.push(match *last {
        None if waits.last().is_some_and(|wait| wait.is_timed) => "it has a deadline".to_owned(),
        None => "what ends this wait is not known".to_owned(),
        Some(waiter) => {
            let is_in = waits.iter().any(|wait| wait.waiter == waiter);
            let activity = if is_in {
                "is in this chain already"
            } else {
                activity(snapshot, waiter)
            };
            format!("{} {activity}", of_waiter(snapshot, waiter))
        }
    });
    lines
}

fn sentence(snapshot: &Snapshot, wait: &Wait) -> String {
    let waiter = of_waiter(snapshot, wait.waiter);
    let target = of_target(snapshot, wait);
    let time = match wait.semantics.mode {
        Mode::Unknown => "since an unknown time".to_owned(),
        _ => format!("{:.1} s", wait.waiting_ms as f64 / 1e3),
    };
    let at = at_place(wait);
    format!("{waiter} waits {time} for {target}{at}")
}

/// Returns the place of a wait after ` at `; nothing if it is not known.
fn at_place(wait: &Wait) -> String {
    match wait.location.as_str() {
        "" => String::new(),
        location => format!(" at {}", short_place(location)),
    }
}

/// Describes the state of a thread or task that has no recorded wait.
fn activity(snapshot: &Snapshot, waiter: Waiter) -> &'static str {
    let Some(id) = waiter.task() else {
        return "has no recorded wait";
    };
    match snapshot.task(id).map(|task| task.state) {
        None => "has ended",
        Some(TaskState::Running) => "is running",
        Some(TaskState::Scheduled) => "is ready to run",
        Some(TaskState::Idle) => "has no recorded wait",
    }
}

fn channels(snapshot: &Snapshot, objects: &[Resource]) -> Vec<Channel> {
    let mut channels: Vec<(Fill, &Object)> = objects
        .iter()
        .filter_map(|resource| Some((resource.fill?, &resource.object)))
        .collect();
    // The fullest first, and the longest of those without a limit; the program's own before those of packages.
    channels.sort_by(|(one, object), (other, other_object)| {
        let share = |fill: &Fill| {
            let capacity = fill.capacity.unwrap_or(usize::MAX).max(1);
            fill.used as f64 / capacity as f64
        };
        let is_of_package = |object: &Object| is_of_package(&object.created_at);
        share(other)
            .total_cmp(&share(one))
            .then(other.used.cmp(&one.used))
            .then(is_of_package(object).cmp(&is_of_package(other_object)))
    });
    let mut rows: Vec<Channel> = Vec::new();
    let mut seen = HashMap::new();
    for (Fill { used, capacity, .. }, object) in channels {
        let place = (&object.name, &object.created_at, object.created_column);
        // Of two without a name and a line, nothing says that they are alike.
        let key = match place {
            (None, line, _) if line.is_empty() => (place, used, capacity, object.id),
            _ => (place, used, capacity, 0),
        };
        let at = *seen.entry(key).or_insert(rows.len());
        match rows.get_mut(at) {
            Some(row) => row.more += 1,
            None => rows.push(Channel {
                name: of_object(snapshot, "channel", object),
                used,
                capacity,
                more: 0,
            }),
        }
    }
    rows
}

/// Returns `true` if a long wait of this kind means contention. A wait for a lock or for room in a channel
/// does. A wait for a message, a timer, another task's end or the end of a channel does not.
fn is_contention(kind: &str) -> bool {
    let mut kinds = Kind::ALL.iter();
    let kind = kinds.find(|known| known.name() == kind);
    kind.is_some_and(|kind| match kind.semantics().mode {
        Mode::Lock
        | Mode::Read
        | Mode::RecursiveRead
        | Mode::UpgradableRead
        | Mode::Upgrade
        | Mode::Write
        | Mode::Permit
        | Mode::Send => true,
        Mode::Other
        | Mode::Receive
        | Mode::Closed
        | Mode::Event
        | Mode::Meet
        | Mode::Join
        | Mode::Drive
        | Mode::Queue
        | Mode::Park
        | Mode::Futex
        | Mode::Unknown => false,
    })
}

fn contention(snapshot: &Snapshot, objects: &[Resource]) -> Vec<Contended> {
    let mut all: HashMap<(u64, &str), Contended> = HashMap::new();
    for Resource {
        object, contention, ..
    } in objects
    {
        for totals in contention
            .iter()
            .filter(|totals| is_contention(&totals.kind))
        {
            let key = (object.id, totals.kind.as_str());
            all.insert(key, contended(snapshot, object, totals));
        }
    }
    for wait in snapshot
        .waits
        .iter()
        .filter(|wait| is_contention(&wait.kind))
    {
        let Some(object) = &wait.object else { continue };
        let key = (object.id, wait.kind.as_str());
        // Its first wait lasts.
        let contended = all.entry(key).or_insert_with(|| {
            let none = Contention {
                kind: wait.kind.clone(),
                location: wait.location.clone(),
                ..Contention::default()
            };
            contended(snapshot, object, &none)
        });
        contended.waiting += 1;
        contended.waited_ns += wait.waiting_ms * 1_000_000;
    }
    let mut all: Vec<Contended> = all.into_values().collect();
    all.sort_by_key(|contended| (Reverse(contended.waited_ns), contended.id));
    all
}

fn contended(snapshot: &Snapshot, object: &Object, totals: &Contention) -> Contended {
    Contended {
        id: object.id,
        name: of_object(snapshot, &totals.kind, object),
        kind: totals.kind.clone(),
        location: totals.location.clone(),
        waited_ns: totals.waited_ns,
        waits: totals.waits(),
        waiting: 0,
        buckets: totals.buckets.clone(),
    }
}
