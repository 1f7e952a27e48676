//! The findings and waits of a run, and the explanation of a failure.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::iter::successors;
use std::time::Duration;

use blitz_io_inspect::trace::{Began, DISK, Known, MADE, OTHER_OPERATION, Recording, Words};
use blitz_io_inspect::{
    Certainty, Finding, Snapshot, Task, Wait, Waiter, findings, of_target, renumber,
    report_of_failure, short_place, snapshot_of_tasks,
};
use blitz_io_observe::{ThreadId, trace};

use super::events::{
    LastEvents, Shown, Steps, TEST, alike_last, at_faults, each_once, first_panic, group, in_turns,
    name, name_in_run, of_moment, only_accepts, that_used_the_same,
};
use super::failure::Cause;
use super::members::Members;
use super::notes::{Moment, Notes};
use super::places::{is_internal, is_of_files, is_of_hosts};

/// Scopes within scopes are followed so far.
const DEPTH: usize = 64;

/// The explanation of a failure.
#[derive(Clone, Debug, Default)]
pub(super) struct Explained {
    /// The faults of the run, in lines.
    pub(super) faults: String,
    pub(super) findings: Vec<Finding>,
    /// The name of the task that has failed, if one has.
    pub(super) culprit: Option<String>,
    /// How long the test's own task has waited, and for what, in a line.
    pub(super) own_wait: String,
    /// The task that has panicked is not the test's own.
    pub(super) is_panic_of_other_task: bool,
    /// The last step: its number, its task and the line of its last event.
    pub(super) last_step: Option<String>,
    /// The operations of a history that is not linearizable, in lines.
    pub(super) history: String,
    /// The findings and waits, in words.
    pub(super) waits: String,
    /// The last events of the tasks that are involved.
    pub(super) events: String,
    /// What the code has asked of the system and not been given.
    pub(super) system: String,
    /// All events in one list, each with its step, if they are to be compared with those of another run.
    pub(super) compared: Vec<String>,
}

impl Explained {
    /// Gives a cause that is a finding the summary in which objects have the numbers of the events.
    pub(super) fn name(&self, cause: &mut Cause) {
        let Cause::Finding { kind, summary } = cause else {
            return;
        };
        let mut certain = self.findings.iter();
        let is_cause =
            |found: &&Finding| found.certainty == Certainty::Certain && found.kind == *kind;
        if let Some(found) = certain.find(is_cause) {
            summary.clone_from(&found.summary);
        }
    }
}

/// The parts of a failed run that explain it.
pub(super) struct AtFailure<'a> {
    /// The tasks of the run. The first one is the test's own.
    pub(super) tasks: &'a [u64],
    pub(super) members: &'a Members,
    pub(super) last_steps: &'a Steps,
    pub(super) notes: &'a Notes,
    /// The number in the run of the task that has failed.
    pub(super) culprit: Option<u64>,
    /// The simulated time.
    pub(super) now: Duration,
    /// The last step of the test's own task; `None` if that has ended.
    pub(super) own_step: Option<Moment>,
    /// The faults that have not ended, in words.
    pub(super) lasting: &'a [String],
    pub(super) shown: Shown,
    /// The run ended without a ready task, a timer and an event of the network: nothing could go on.
    pub(super) is_finished: bool,
    /// The events are compared with those of another run.
    pub(super) compares: bool,
    /// A task that panics does not fail the run.
    pub(super) panics_are_allowed: bool,
}

/// The facts about a run that a judgement needs. Without them it names objects and children as it finds them.
#[derive(Default)]
struct OfRun {
    /// The objects, and the children of scopes, that have a number in the run.
    known: (BTreeMap<u64, u64>, BTreeMap<u64, u64>),
    /// The names that the program has given tasks.
    names: BTreeMap<u64, String>,
    /// See [`AtFailure::is_finished`].
    is_finished: bool,
}

/// Explains a failure of the run, which this thread runs.
pub(super) fn explain(of: &AtFailure<'_>) -> Explained {
    let recording =
        Recording::parse_with_children(trace::recording().as_bytes()).unwrap_or_default();
    let names = of.tasks.iter().zip(1..).filter_map(|(&task, number)| {
        let name = of.notes.name_of(task)?;
        Some((number, name.to_owned()))
    });
    let names: BTreeMap<u64, String> = names.collect();
    let words = words(&recording, of, &names);
    let children = words.children.iter();
    let children = children.map(|child| (child.id, child.number)).collect();
    let known = (words.objects.clone(), children);
    let of_run = OfRun {
        known,
        names,
        is_finished: of.is_finished,
    };
    let (mut snapshot, mut findings) = judge(of.tasks, of.members, of_run);
    let times = of.last_steps.times(&words.steps);
    let began = |wait: &Wait| -> Option<Duration> {
        let mut last = words.waits.iter().rev();
        let began = last.find(|began| is_of(began, wait))?;
        *times.get(began.step.checked_sub(1)?)?
    };
    let waited = snapshot.waits.iter().map(|wait| {
        // Earlier events are lost.
        let began = began(wait).unwrap_or_default();
        let waited = of.now.saturating_sub(began).as_millis();
        (wait.id, waited.try_into().unwrap_or(u64::MAX))
    });
    let waited: BTreeMap<u64, u64> = waited.collect();
    let of_findings = findings.iter_mut().flat_map(|finding| &mut finding.waits);
    for wait in snapshot.waits.iter_mut().chain(of_findings) {
        wait.waiting_ms = waited.get(&wait.id).copied().unwrap_or(0);
    }
    let order = |wait: &Wait| (wait.waiter, Reverse(wait.waiting_ms), wait.location.clone());
    snapshot.waits.sort_by_cached_key(order);
    let operations = operations(&words, &snapshot);
    let mut hidden = injectors(of.members, &words);
    hidden.extend(&operations);
    let mut lines = of.last_steps.lines(&words, of.notes);
    lines.retain(|line| line.task.is_none_or(|task| !hidden.contains(&task)));
    let host_of = |task| of.members.host_of(task);
    let at_faults = at_faults(&lines, &host_of);
    let culprit = of.culprit;
    let guilty = culprit.map(|task| first_panic(&lines, task, !of.panics_are_allowed));
    let guilty_task = guilty.as_ref().map(|(task, _)| *task);
    let users = guilty_task.map(|task| that_used_the_same(&lines, task));
    let history = of.notes.history.as_ref();
    let of_history = history.map_or(&[][..], |history| &history.tasks);
    let guilty_task = guilty_task.into_iter().chain(of_history.iter().copied());
    let users = guilty_task.chain(users.unwrap_or_default());
    let mut involved = involved(of, (&snapshot, &findings), users, at_faults);
    involved.retain(|task| !hidden.contains(task));
    if findings.is_empty() {
        let is_loop = |task: &u64| host_of(*task) != 0 && Some(*task) != of.culprit;
        involved.sort_by_cached_key(|task| is_loop(task) && only_accepts(&lines, *task));
    }
    let involved = alike_last(involved, |task| group(task, &words, &snapshot, &host_of));
    snapshot.tasks.retain(|task| !hidden.contains(&task.id));
    let is_own = |wait: &Wait| {
        let task = wait.waiter.task();
        task.is_none_or(|task| !hidden.contains(&task))
    };
    snapshot.waits.retain(is_own);
    for wait in &mut snapshot.waits {
        name_part_of_file(wait, &operations);
    }
    let compared = if of.compares {
        let all = lines.iter();
        all.map(|line| line.in_one_list(&words, &snapshot))
            .collect()
    } else {
        Vec::new()
    };
    let culprit = guilty.map(|(task, child)| match child {
        Some(child) => format!("{child} of {}", name(task, &snapshot)),
        None => name(task, &snapshot),
    });
    let last_step = of.last_steps.describe_last(&lines, &snapshot);
    let last_events = LastEvents {
        steps: of.last_steps,
        lines,
        words: &words,
        notes: of.notes,
        involved: &involved,
        first: of.culprit.filter(|_| of.notes.is_of_hosts()),
        snapshot: &snapshot,
        host_of: &host_of,
        shown: of.shown,
    };
    Explained {
        faults: of.notes.faults(of.lasting),
        own_wait: own_wait(of, &snapshot),
        culprit,
        is_panic_of_other_task: of.culprit.is_some_and(|task| task != TEST),
        last_step,
        history: history.map_or_else(String::new, |history| history.operations.clone()),
        waits: report_of_failure(&snapshot, &findings),
        events: last_events.describe(),
        findings,
        system: String::new(),
        compared,
    }
}

/// Says since when the test's own task has waited, and for what: that is why the run does not end. Empty if it does not wait.
fn own_wait(of: &AtFailure<'_>, snapshot: &Snapshot) -> String {
    let mut waits = snapshot.waits.iter();
    let own = waits.find(|wait| wait.waiter == Waiter::Task(TEST));
    match (own, of.own_step) {
        (Some(wait), Some(since)) => format!(
            "  the test has waited since {} for {}\n",
            of_moment(since),
            of_target(snapshot, wait)
        ),
        _ => String::new(),
    }
}

/// Returns the tasks that only inject faults, which the report has among the events of the hosts.
fn injectors(members: &Members, words: &Words) -> BTreeSet<u64> {
    let spawned = words.spawned_at.iter();
    let by_hosts = spawned.filter(|(_, place)| is_of_hosts(place));
    let by_hosts = by_hosts.map(|(task, _)| *task);
    by_hosts
        .filter(|&task| members.name_of_host(task).is_none())
        .collect()
}

/// Returns the tasks that are operations on files: parts of the tasks that have begun them.
fn operations(words: &Words, snapshot: &Snapshot) -> BTreeSet<u64> {
    let spawned = words.spawned_at.iter();
    let spawned = spawned.map(|(task, place)| (*task, place));
    let alive = snapshot.tasks.iter();
    let all = spawned.chain(alive.map(|task| (task.id, &task.location)));
    let all = all.filter(|(_, place)| is_of_files(place));
    all.map(|(task, _)| task).collect()
}

/// Gives a wait in the code of files the same target as its event: one that the program knows.
fn name_part_of_file(wait: &mut Wait, operations: &BTreeSet<u64>) {
    let object = wait.object.as_ref();
    if wait.task.is_some_and(|task| operations.contains(&task)) {
        wait.kind = DISK.to_owned();
        wait.task = None;
    } else if object.is_some_and(|object| is_of_files(&object.created_at)) {
        wait.kind = OTHER_OPERATION.to_owned();
        wait.object = None;
    }
    if is_of_files(&wait.location) {
        wait.location.clear();
    }
}

/// Returns `true` if an event is the begin of a wait. A wait for a socket has the kind of its source.
fn is_of(began: &Began, wait: &Wait) -> bool {
    let is_kind = began.kind == wait.kind || wait.source.is_some();
    let is_same = Waiter::Task(began.waiter) == wait.waiter;
    is_same && is_kind && began.location == short_place(&wait.location)
}

/// Returns the last events of the run's tasks.
fn words(recording: &Recording, of: &AtFailure<'_>, names: &BTreeMap<u64, String>) -> Words {
    let name = |task: u64| {
        let of_program = names.get(&task).map(String::as_str);
        name_in_run(task, of.members.name_of_host(task), of_program)
    };
    recording.words(&Known {
        tasks: &of.tasks.iter().copied().zip(1..).collect(),
        name: &name,
        notes: of.notes.sentences(),
        thread: own_thread(),
        is_step: &|number| of.last_steps.has(number),
        is_hidden: &is_internal,
        is_of_files: &is_of_files,
    })
}

/// Returns the tasks that are involved in the failure. Those that matter most come first: the task that has failed, those of
/// the findings, and the `users` of the objects that it has used last. Then tasks at faults and those that ran last take turns.
fn involved(
    of: &AtFailure<'_>,
    (snapshot, findings): (&Snapshot, &[Finding]),
    users: impl Iterator<Item = u64>,
    at_faults: Vec<u64>,
) -> Vec<u64> {
    let of_findings = findings.iter().flat_map(|finding| &finding.waiters);
    let of_findings = of_findings.filter_map(|&waiter| task_of(snapshot, waiter));
    let first = of.culprit.into_iter().chain(of_findings).chain(users);
    let first = each_once(first);
    let last = if findings.is_empty() {
        that_ran_last(of, snapshot)
    } else {
        of.last_steps.tasks().take(1).collect()
    };
    let is_other = |task: &u64| !first.contains(task);
    let others = [at_faults, last].map(|tasks| tasks.into_iter().filter(is_other).collect());
    each_once(first.iter().copied().chain(in_turns(&others)))
}

/// Returns all tasks, as without findings each may be the reason: those that wait before those that have ended, and that which ran
/// last as the first of each kind.
fn that_ran_last(of: &AtFailure<'_>, snapshot: &Snapshot) -> Vec<u64> {
    let waiting = snapshot.waits.iter();
    let waiting = waiting.filter_map(|wait| task_of(snapshot, wait.waiter));
    let waiting: BTreeSet<u64> = waiting.collect();
    let all = each_once(of.last_steps.tasks().chain(waiting.iter().copied()));
    let (first, later): (Vec<u64>, Vec<u64>) =
        all.into_iter().partition(|task| waiting.contains(task));
    [first, later].concat()
}

/// Returns the task, or for a child that a task polls itself that task, whose events are the child's.
fn task_of(snapshot: &Snapshot, waiter: Waiter) -> Option<u64> {
    let mut here = waiter;
    for _ in 0..DEPTH {
        let task = snapshot.task(here.task()?)?;
        match task.child_of.filter(|_| task.is_part()) {
            Some(of) => here = of.owner,
            None => return Some(task.id),
        }
    }
    None
}

/// Returns a failure if some of these tasks certainly wait for ever.
pub(super) fn certain(tasks: &[u64], members: &Members) -> Option<Cause> {
    let (_, findings) = judge(tasks, members, <_>::default());
    let mut certain = findings
        .into_iter()
        .filter(|finding| finding.certainty == Certainty::Certain);
    let Finding { kind, summary, .. } = certain.next()?;
    Some(Cause::Finding { kind, summary })
}

/// Returns the number of this thread, which is that of the simulation.
fn own_thread() -> u64 {
    ThreadId::current().get().get() as u64
}

/// Returns the waits of these tasks, and their findings. Other tests of the process have theirs.
fn judge(tasks: &[u64], members: &Members, of_run: OfRun) -> (Snapshot, Vec<Finding>) {
    let all: BTreeSet<u64> = tasks.iter().copied().collect();
    let mut snapshot = snapshot_of_tasks(|task| all.contains(&task));
    keep_own(&mut snapshot, &all);
    // The simulation drives all of them, and a host has a clock of its own, by which its timers may not be due yet.
    snapshot.overdue.clear();
    snapshot.timers.clear();
    give_numbers(&mut snapshot, tasks, of_run.known);
    snapshot.ended = of_run.names;
    snapshot.simulation = Some(own_thread());
    snapshot.is_finished = of_run.is_finished;
    let count = tasks.len() as u64;
    members.name_tasks(count, &mut snapshot);
    // The test's own task was spawned here.
    if let Some(own) = snapshot.tasks.iter_mut().find(|task| task.id == TEST) {
        own.name = "the test".into();
        own.location.clear();
    }
    let internal = snapshot.tasks.iter_mut();
    for task in internal.filter(|task| is_internal(&task.location)) {
        if is_of_hosts(&task.location) {
            task.name = "inject".into();
        }
        task.location.clear();
    }
    for wait in &mut snapshot.waits {
        if is_internal(&wait.location) {
            wait.location.clear();
        }
    }
    // No task of the run is polled now, so a second snapshot would show the same waits.
    let findings = findings(&snapshot, &snapshot);
    (snapshot, findings)
}

/// Removes the records of other tests' tasks. While records are read, a task that begins in another thread may take the place
/// of one that was chosen.
fn keep_own(snapshot: &mut Snapshot, all: &BTreeSet<u64>) {
    let owner = |task: &Task| Some((task.id, task.child_of?.owner.task()?));
    let owners: BTreeMap<u64, u64> = snapshot.tasks.iter().filter_map(owner).collect();
    let is_own = |task: u64| {
        let around = successors(Some(task), |task| owners.get(task).copied());
        around.take(DEPTH).any(|task| all.contains(&task))
    };
    snapshot.tasks.retain(|task| is_own(task.id));
    snapshot.jobs.retain(|job| is_own(job.id));
    let waits = &mut snapshot.waits;
    waits.retain(|wait| wait.waiter.task().is_some_and(is_own));
}

/// Gives the tasks their numbers in the run, and objects and children numbers that do not depend on addresses and other runs.
fn give_numbers(
    snapshot: &mut Snapshot,
    tasks: &[u64],
    (objects, children): (BTreeMap<u64, u64>, BTreeMap<u64, u64>),
) {
    let known = tasks.iter().copied().zip(1..);
    let mut tasks = Numbers::new(known.collect());
    let mut children = Numbers::new(children);
    let mut objects = Numbers::new(objects);
    number_made(snapshot, &mut objects);
    renumber(
        snapshot,
        |task| tasks.of(task),
        |child| children.of(child),
        |object| objects.of(object),
    );
}

/// Gives numbers to the objects that waits know by their origins only.
fn number_made(snapshot: &mut Snapshot, objects: &mut Numbers) {
    let without_object = snapshot.waits.iter().filter(|wait| wait.object.is_none());
    let waits: BTreeSet<u64> = without_object.map(|wait| wait.id).collect();
    let mut makers: Vec<_> = snapshot.makers.iter().collect();
    makers.retain(|maker| waits.contains(&maker.wait));
    makers.sort_by_key(|maker| maker.number);
    let numbers = makers
        .iter()
        .map(|maker| (maker.wait, objects.of(MADE | maker.number)));
    snapshot.made = numbers.collect();
}

/// Numbers in the order of the first use, after those that are given.
struct Numbers(BTreeMap<u64, u64>, u64);

impl Numbers {
    fn new(given: BTreeMap<u64, u64>) -> Self {
        let last = given.values().copied().max().unwrap_or(0);
        Self(given, last)
    }

    fn of(&mut self, id: u64) -> u64 {
        *self.0.entry(id).or_insert_with(|| {
            self.1 += 1;
            self.1
        })
    }
}
