//! Copies the records of this process into a [`Snapshot`].

use std::thread;
use std::time::{Duration, Instant};

use blitz_io_observe::collections::{HashMap, HashSet};
use blitz_io_observe::{self as records, Kind};

use crate::ends;
use crate::families::Families;
use crate::findings::{LONG_SCHEDULED, NOT_POLLED, findings, never_polled};
#[cfg(any(unix, windows))]
use crate::long_poll;
use crate::process;
use crate::runtimes::runtimes;
use crate::selection::Selection;
use crate::sleepers::{self, Sleepers};
use crate::snapshot::{
    ChildOf, Contention, Fill, Finding, Job, Maker, Object, Overdue, Resource, Serves, Snapshot,
    Spawned, Task, TaskState, Thread, Timer, Wait, Waiter, place, waiter,
};
#[cfg(any(unix, windows))]
use crate::stacks::{self, Way};

/// The number of objects in a snapshot that leaves waits out, beside those of its waits.
const OBJECTS: usize = 1_024;
/// The owners of scopes within scopes are followed so far.
const DEPTH: usize = 64;
/// The time between the two snapshots that a judgement needs.
const PAUSE: Duration = Duration::from_millis(100);

/// Copies all waits, objects and runtimes of this process. Takes no lock that a thread may hold while
/// it waits, and polls no future.
///
/// # Examples
///
/// ```
/// let snapshot = blitz_io_inspect::snapshot();
/// assert_eq!(snapshot.pid, std::process::id());
/// ```
#[must_use]
pub fn snapshot() -> Snapshot {
    snapshot_of(&Selection::ALL)
}

/// Copies the waits of the chosen waiters, their objects, and the runtimes.
fn snapshot_of(selection: &Selection) -> Snapshot {
    with_objects(waits_of(selection))
}

/// Adds the objects and runtimes.
fn with_objects(mut snapshot: Snapshot) -> Snapshot {
    let (objects, dropped) = resources(&snapshot);
    snapshot.objects = Some(objects);
    snapshot.dropped = dropped.into_iter().map(contention).collect();
    snapshot.runtimes = Some(runtimes());
    snapshot
}

/// Copies objects. If the snapshot leaves waits out: those of its waits, and those for which waiters have waited longest.
fn resources(snapshot: &Snapshot) -> (Vec<Resource>, Vec<records::Contention>) {
    let is_partial = snapshot.left_out.is_some();
    let objects = snapshot
        .waits
        .iter()
        .filter_map(|wait| wait.object.as_ref());
    let own: HashSet<u64> = objects.map(|object| object.id).collect();
    let waited = |object: &Resource| -> u64 {
        let contention = object.contention.iter();
        contention.map(|contention| contention.waited_ns).sum()
    };
    let (mut found, mut others) = (Vec::new(), Vec::new());
    let dropped = records::for_each_object(|record| {
        if !is_partial || own.contains(&record.facts.id) {
            found.push(resource(record));
        } else if !record.contention.is_empty() {
            others.push(resource(record));
        }
        if others.len() >= 2 * OBJECTS {
            others.sort_by_key(|object| std::cmp::Reverse(waited(object)));
            others.truncate(OBJECTS);
        }
    });
    found.append(&mut others);
    (found, dropped)
}

/// Copies the waits, tasks and threads. A judgement needs no more.
pub(crate) fn waits() -> Snapshot {
    waits_of(&Selection::ALL)
}

/// Copies the waits of those tasks for which `chooses` returns `true` and of the children of their scopes, and nothing else:
/// no other waiters, objects or threads. For a simulation, whose tasks are in one thread. `chooses` waits for nothing.
#[doc(hidden)]
#[must_use]
pub fn snapshot_of_tasks(mut chooses: impl FnMut(u64) -> bool) -> Snapshot {
    let mut owners: HashMap<records::Waiter, records::Waiter> = HashMap::default();
    _ = records::read_chosen(|brief| {
        owners.extend(brief.owner.map(|owner| (brief.waiter, owner)));
        false
    });
    let read = records::read_chosen(|brief| {
        let owner = |waiter: &records::Waiter| owners.get(waiter).copied();
        let around = std::iter::successors(Some(brief.waiter), owner).take(DEPTH);
        let waiter = around.last().unwrap_or(brief.waiter);
        waiter.is_task() && !brief.is_root && chooses(waiter.number())
    });
    of_records(&Selection::ALL, Sleepers::default(), read)
}

/// Does the same for the chosen waiters.
fn waits_of(selection: &Selection) -> Snapshot {
    // First: see `sleepers.rs`.
    let system = sleepers::read();
    let read = records::read_chosen(|brief| selection.has(brief));
    of_records(selection, system, read)
}

/// Returns the requests for which the tasks of the snapshot work.
fn requests(snapshot: &Snapshot) -> Vec<Serves> {
    let tasks: HashSet<u64> = snapshot.tasks.iter().map(|task| task.id).collect();
    let all = records::trace::requests().into_iter();
    let of_tasks = all.filter(|(by, _)| by.is_task() && tasks.contains(&by.number()));
    let serves = of_tasks.map(|(by, name)| Serves {
        task: by.number(),
        name,
    });
    let mut serves: Vec<Serves> = serves.collect();
    serves.sort();
    serves
}

/// Makes a snapshot of records and threads that were just read.
fn of_records(
    selection: &Selection,
    system: Sleepers,
    (records, threads): (Vec<records::Record>, Vec<records::ThreadRecord>),
) -> Snapshot {
    let now = records::now();
    let moment = Instant::now();
    let mut snapshot = Snapshot {
        pid: std::process::id(),
        at_ms: now,
        ..Snapshot::default()
    };
    let numbers: HashMap<u32, u64> = threads
        .iter()
        .map(|thread| (thread.system, thread.number))
        .collect();
    let of_runtimes = threads.iter().filter(|thread| thread.runs_tasks);
    let runtime: HashSet<u64> = of_runtimes.map(|thread| thread.number).collect();
    snapshot.threads = threads
        .into_iter()
        .map(|thread| Thread {
            id: thread.number,
            name: thread.name,
            system: Some(thread.system).filter(|&system| system != 0),
            has_ended: thread.had != 0 && system.is_without(thread.had),
        })
        .collect();
    let sleeps = records.iter().filter(|record| record.blocks_thread);
    let recorded: HashSet<u64> = sleeps.map(|record| record.thread.number()).collect();
    let tasks = records.iter().filter_map(|record| {
        let task = record.task.as_ref()?;
        Some((record.waiter, task.header))
    });
    let headers: HashMap<records::Waiter, usize> = tasks.collect();
    for mut record in records {
        if record.kind == records::Kind::Idle {
            continue;
        }
        let is_direct = headers.get(&record.waiter) == Some(&record.waker);
        let location = record.location.map(place).unwrap_or_default();
        if let Some(task) = record.task.take() {
            snapshot.spawned.push(Spawned {
                task: record.waiter.number(),
                by: task.origin.and_then(|of| of.maker().map(waiter)),
                number: task.origin.map_or(u64::MAX, |of| of.number()),
            });
            if task.is_job {
                let runs = task.state == records::TaskState::Running;
                if !runs {
                    snapshot.waits.push(queued(&record, now));
                }
                snapshot.jobs.push(Job {
                    id: record.waiter.number(),
                    name: task.name,
                    location,
                    thread: runs.then_some(task.thread),
                    runtime: task.runtime,
                });
                continue;
            }
            let since = (task.poll_since != 0).then(|| now.saturating_sub(task.poll_since));
            snapshot.tasks.push(Task {
                id: record.waiter.number(),
                name: task.name,
                is_root: task.is_root,
                location,
                state: match task.state {
                    records::TaskState::Idle => TaskState::Idle,
                    records::TaskState::Scheduled => TaskState::Scheduled,
                    records::TaskState::Running => TaskState::Running,
                },
                thread: task.thread,
                poll_ms: since,
                wakers: task.wakers,
                polls: task.polls,
                is_pinned: task.is_pinned,
                child_of: task.scope.map(|scope| ChildOf {
                    owner: waiter(scope.owner),
                    scope: scope.object,
                    borrows: scope.lends,
                }),
            });
            continue;
        }
        let origin = record.origin.filter(|_| maker_matters(record.kind));
        if let Some((maker, number)) = origin.and_then(|of| Some((of.maker()?, of.number()))) {
            snapshot.makers.push(Maker {
                wait: record.id,
                maker: waiter(maker),
                number,
            });
        }
        if let Some(deadline) = record.deadline {
            let wait = record.id;
            let millis = |time: Duration| time.as_millis().try_into().unwrap_or(u64::MAX);
            match moment.checked_duration_since(deadline) {
                Some(late) => snapshot.overdue.push(Overdue {
                    wait,
                    late_ms: millis(late),
                }),
                None => snapshot.timers.push(Timer {
                    wait,
                    left_ms: millis(deadline.duration_since(moment)),
                }),
            }
        }
        let word = word(&record);
        let is_handed = is_handed(&record);
        let (kind, source) = match record.source {
            Some(source) => (source.kind, Some(source.what)),
            None => (record.kind.name(), word),
        };
        snapshot.waits.push(Wait {
            id: record.id,
            waiter: waiter(record.waiter),
            thread: record.thread.number(),
            kind: kind.into(),
            semantics: record.kind.semantics(),
            is_handed,
            object: (record.object).map(|facts| object_of_wait(record.kind, facts)),
            task: (record.kind.semantics().ended_by == records::EndedBy::Task)
                .then_some(record.number),
            runtime: (record.kind == Kind::Shutdown).then_some(record.number),
            source,
            location,
            since_ms: record.since,
            waiting_ms: now.saturating_sub(record.since),
            is_timed: record.is_timed,
            blocks_thread: record.blocks_thread,
            is_direct,
        });
    }
    for sleeper in &system.sleepers {
        let number = numbers.get(&sleeper.system()).copied();
        if !number.is_some_and(|number| recorded.contains(&number)) {
            sleeper.add_to(&mut snapshot, number);
        }
    }
    snapshot.all_asleep = system.all_asleep;
    snapshot.other_threads = system.threads.map(|all| {
        let runs_others = |system: &&u32| !only_runs_tasks(&snapshot, &numbers, &runtime, **system);
        all.iter().filter(runs_others).count()
    });
    forget_older(&mut snapshot);
    forget_driven(&mut snapshot, &runtime);
    forget_idle_timers(&mut snapshot);
    snapshot.requests = requests(&snapshot);
    snapshot.missing = system.missing;
    snapshot.handles_signals = system.handles_signals;
    snapshot
        .waits
        .sort_by_key(|wait| (wait.waiter, std::cmp::Reverse(wait.waiting_ms)));
    snapshot.tasks.sort_by_key(|task| task.id);
    snapshot.jobs.sort_by_key(|job| job.id);
    snapshot.left_out = selection.left_out(&snapshot);
    snapshot.ends = ends::read();
    if !snapshot.ends.is_empty() {
        snapshot.processes.push(process::own());
    }
    snapshot
}

/// Returns `true` if a thread runs tasks and closures of a runtime, or drives a future.
fn only_runs_tasks(
    snapshot: &Snapshot,
    numbers: &HashMap<u32, u64>,
    runtime: &HashSet<u64>,
    system: u32,
) -> bool {
    let Some(number) = numbers.get(&system) else {
        return false;
    };
    let mut roots = snapshot.tasks.iter().filter(|task| task.is_root);
    runtime.contains(number) || roots.any(|root| root.thread == *number)
}

/// Removes the timers of tasks that a worker has polled last, or a thread that drives a future now. A future that a
/// thread drives stays: that thread may drive no runtime.
fn forget_driven(snapshot: &mut Snapshot, runtime: &HashSet<u64>) {
    if snapshot.overdue.is_empty() {
        return;
    }
    let roots = snapshot.tasks.iter().filter(|task| task.is_root);
    let driving: HashSet<u64> = roots.map(|root| root.thread).collect();
    let is_left = |task: &Task| {
        task.is_root || !(runtime.contains(&task.thread) || driving.contains(&task.thread))
    };
    // A child that its owner polls has the timers of that.
    let families = Families::new(snapshot);
    let is_left = |task: &&Task| {
        let outermost = families.owners(Waiter::Task(task.id)).last();
        match outermost.filter(|_| task.is_part()) {
            Some(owner) => owner
                .task()
                .and_then(|id| snapshot.tasks.iter().find(|task| task.id == id))
                .is_some_and(is_left),
            None => is_left(task),
        }
    };
    let tasks = snapshot.tasks.iter().filter(is_left);
    let left: HashSet<Waiter> = tasks.map(|task| Waiter::Task(task.id)).collect();
    let left = numbers_of_waits(snapshot, &left);
    snapshot.overdue.retain(|timer| left.contains(&timer.wait));
}

/// Returns the numbers of the waits of these waiters.
fn numbers_of_waits(snapshot: &Snapshot, waiters: &HashSet<Waiter>) -> HashSet<u64> {
    let waits = snapshot.waits.iter();
    let own = waits.filter(|wait| waiters.contains(&wait.waiter));
    own.map(|wait| wait.id).collect()
}

/// Removes the timers of waiters for which no other one waits: a service may have a million.
fn forget_idle_timers(snapshot: &mut Snapshot) {
    if snapshot.timers.is_empty() {
        return;
    }
    let objects = snapshot
        .waits
        .iter()
        .filter_map(|wait| wait.object.as_ref());
    let users = objects.flat_map(|object| {
        let one = [object.holder, object.sender, object.receiver];
        let readers = object.readers.iter().copied();
        one.into_iter().flatten().chain(readers)
    });
    let awaited = snapshot.waits.iter().filter_map(|wait| wait.task);
    let awaited: HashSet<Waiter> = users.chain(awaited.map(Waiter::Task)).collect();
    let left = numbers_of_waits(snapshot, &awaited);
    snapshot.timers.retain(|timer| left.contains(&timer.wait));
}

/// Removes the tasks that are older than all objects with a maker, beside those that have spawned others, and those that
/// may have got a guard or permit from their spawners.
fn forget_older(snapshot: &mut Snapshot) {
    let makers = snapshot.makers.iter();
    let oldest = makers.map(|maker| maker.number).min().unwrap_or(u64::MAX);
    let is_later = |spawned: &&Spawned| spawned.number >= oldest;
    let later = snapshot.spawned.iter().filter(is_later);
    let spawners: HashSet<u64> = later.filter_map(|s| s.by?.task()).collect();
    let objects = snapshot
        .waits
        .iter()
        .filter_map(|wait| wait.object.as_ref());
    let movable = objects.filter(|object| object.is_movable);
    let givers: HashSet<Waiter> = movable.filter_map(|object| object.holder).collect();
    snapshot.spawned.retain(|s| {
        let may_have_got = s.by.is_some_and(|by| givers.contains(&by));
        s.number >= oldest || spawners.contains(&s.task) || may_have_got
    });
}

/// Judges the waits of this process. Blocks the thread for a tenth of a second, because a judgement
/// compares two snapshots; for another second if a task was ready in both of them and not polled in between.
///
/// # Examples
///
/// ```
/// assert!(blitz_io_inspect::deadlocks().is_empty());
/// ```
#[must_use]
pub fn deadlocks() -> Vec<Finding> {
    judged().1
}

/// Makes two snapshots and judges them. Returns the second one and the findings. If there are very many waits, both
/// have a part of them (`selection.rs`).
pub(crate) fn judged() -> (Snapshot, Vec<Finding>) {
    let selection = Selection::choose();
    let earlier = waits_of(&selection);
    thread::sleep(PAUSE);
    let mut later = snapshot_of(&selection);
    if !never_polled(&earlier, &later).is_empty() {
        thread::sleep(Duration::from_millis(LONG_SCHEDULED));
        later = snapshot_of(&selection);
    }
    let findings = findings(&earlier, &later);
    (later, findings)
}

/// Judges the waits of this process in a state that lasts: each of these threads, by the system's numbers, waits
/// until another one wakes it. One snapshot is enough then, and the system has nothing to add.
#[cfg(any(unix, windows))]
pub(crate) fn judged_at_rest(threads: &[u32]) -> (Snapshot, Vec<Finding>) {
    let selection = Selection::choose();
    let mut threads = threads.to_vec();
    threads.sort_unstable();
    let system = Sleepers {
        threads: Some(threads),
        all_asleep: Some(0),
        ..Sleepers::default()
    };
    let read = records::read_chosen(|brief| selection.has(brief));
    let mut snapshot = with_objects(of_records(&selection, system, read));
    snapshot.is_finished = true;
    let findings = findings(&snapshot, &snapshot);
    (snapshot, findings)
}

/// Judges the waits of this process at one moment, in which its threads do nothing: it is a copy of a process whose threads
/// may run. So there are no findings about tasks that are ready.
#[cfg(any(unix, windows))]
pub(crate) fn judged_in_run() -> (Snapshot, Vec<Finding>) {
    let selection = Selection::choose();
    let read = records::read_chosen(|brief| selection.has(brief));
    let snapshot = with_objects(of_records(&selection, Sleepers::default(), read));
    let mut findings = findings(&snapshot, &snapshot);
    findings.retain(|finding| finding.kind != NOT_POLLED);
    (snapshot, findings)
}

/// Does the same as [`judged`] for a report, which has stacks.
#[cfg(any(unix, windows))]
pub(crate) fn judged_with_stacks(way: Way) -> (Snapshot, Vec<Finding>) {
    let (mut snapshot, mut findings) = judged();
    // Last: a thread that makes a copy of its stack runs.
    stacks::add(&mut snapshot, way);
    long_poll::add_states(&snapshot, &mut findings);
    (snapshot, findings)
}

/// Returns the wait of a queued job for a thread.
fn queued(job: &records::Record, now: u64) -> Wait {
    let kind = records::Kind::QueuedJob;
    Wait {
        id: job.id,
        waiter: waiter(job.waiter),
        thread: job.thread.number(),
        kind: kind.name().into(),
        semantics: kind.semantics(),
        object: None,
        task: None,
        runtime: None,
        source: None,
        location: job.location.map(place).unwrap_or_default(),
        since_ms: job.since,
        waiting_ms: now.saturating_sub(job.since),
        is_timed: false,
        blocks_thread: false,
        is_direct: true,
        is_handed: false,
    }
}

/// Returns the word of a futex, and the value that it holds.
fn word(record: &records::Record) -> Option<String> {
    let describe = || format!("{:#x} while it is {}", record.word, record.number);
    (record.kind == records::Kind::Futex).then(describe)
}

fn is_handed(record: &records::Record) -> bool {
    let mut object = record.object.iter();
    object.any(|object| object.is_handed_to(record.waker))
}

fn resource(record: records::ObjectRecord) -> Resource {
    Resource {
        object: object(record.facts),
        contention: record.contention.into_iter().map(contention).collect(),
        fill: record.fill.map(|fill| Fill {
            used: fill.used,
            capacity: fill.capacity,
            senders: Some(fill.senders),
            receivers: Some(fill.receivers),
        }),
    }
}

fn contention(totals: records::Contention) -> Contention {
    Contention {
        kind: totals.kind.name().into(),
        waited_ns: totals.nanos,
        buckets: totals.buckets.into(),
        location: totals.location.map(place).unwrap_or_default(),
    }
}

/// Returns the object of a wait of this kind.
fn object_of_wait(kind: Kind, facts: records::Facts) -> Object {
    let are_kept = facts.are_kept;
    let mut object = object(facts);
    if kind.semantics().mode == records::Mode::Permit && !object.readers.is_empty() {
        // A waiter may have several guards.
        object.readers.sort_unstable();
        object.readers.dedup();
        object.are_kept = are_kept && object.unnamed == 0;
        // The last one to acquire permits may have returned them. One that is not named may be the last one.
        let is_it = |holder: &Waiter| object.unnamed != 0 || object.readers.contains(holder);
        object.holder = object.holder.filter(is_it);
        object.is_given &= object.holder.is_some();
    }
    object
}

fn object(facts: records::Facts) -> Object {
    Object {
        id: facts.id,
        name: facts.name.map(str::to_owned),
        holder: facts.holder.map(waiter),
        is_movable: facts.is_movable,
        is_beside_readers: facts.is_beside_readers,
        is_given: facts.is_given,
        readers: facts.readers.into_iter().map(waiter).collect(),
        unnamed: facts.unnamed,
        are_kept: false,
        parties: Some(facts.parties).filter(|&parties| parties != 0),
        taken_at: facts.taken_at.map(place).unwrap_or_default(),
        created_at: facts.created_at.map(place).unwrap_or_default(),
        created_column: facts.created_at.map_or(0, |location| location.column()),
        sender: facts.sender.map(waiter),
        receiver: facts.receiver.map(waiter),
    }
}

/// The kinds of waits for an object whose other end is a plain value, at least before its first use.
const MADE: [Kind; 16] = [
    Kind::OneshotReceive,
    Kind::OneshotClosed,
    Kind::MpscSend,
    Kind::MpscReceive,
    Kind::MpscClosed,
    Kind::MpmcSend,
    Kind::MpmcReceive,
    Kind::MpmcClosed,
    Kind::WatchReceive,
    Kind::WatchClosed,
    Kind::BroadcastReceive,
    Kind::BroadcastClosed,
    Kind::Cancelled,
    Kind::Notify,
    Kind::Barrier,
    Kind::OnceCell,
];

/// Returns `true` if the maker of the object of such a wait matters.
fn maker_matters(kind: Kind) -> bool {
    MADE.contains(&kind)
}
