//! Polls that last, each of which keeps a thread.

use blitz_io_observe::Kind;
#[cfg(all(any(unix, windows), feature = "records"))]
use blitz_io_observe::Mode;
use blitz_io_observe::collections::HashSet;

use crate::graph::Graph;
use crate::names::{of_waiter, short};
use crate::snapshot::{Certainty, Finding, Snapshot, Task, Wait, Waiter};
use crate::stack_text::is_of_program;

/// The kind of these findings.
const KIND: &str = "long-poll";
/// A poll that takes longer than this is a finding, in milliseconds.
const LONG_POLL: u64 = 1_000;

/// Returns the tasks, and the futures of `block_on`, that have been in one poll for longer. A future that drives
/// another one is none: a nested `block_on` is a wait of its own, and a poll of a `LocalSet` is that of its task.
pub(crate) fn in_long_poll(snapshot: &Snapshot) -> impl Iterator<Item = &Task> {
    let is_long = |task: &&Task| task.poll_ms.is_some_and(|time| time >= LONG_POLL);
    let drives_another = |root: &Task| {
        let mut tasks = snapshot.tasks.iter();
        let mut waits = snapshot.waits.iter();
        let is_inner = |task: &Task| task.id != root.id && task.thread == root.thread;
        tasks.any(|task| is_inner(task) && task.poll_ms.is_some() && task.poll_ms <= root.poll_ms)
            || waits.any(|wait| is_block_on(wait) && wait.waiter == Waiter::Task(root.id))
    };
    let mut tasks = snapshot.tasks.iter().filter(is_long);
    std::iter::from_fn(move || tasks.find(|task| !task.is_root || !drives_another(task)))
}

fn is_block_on(wait: &Wait) -> bool {
    wait.kind == Kind::BlockOn.name() && wait.blocks_thread
}

pub(crate) fn long_polls(graph: &Graph<'_>, found: &mut Vec<Finding>) {
    let snapshot = graph.snapshot;
    let certain = found.iter().filter(|f| f.certainty == Certainty::Certain);
    // That all threads sleep does not say which wait keeps this one.
    let certain = certain.filter(|f| f.kind != "all-asleep");
    let explained: HashSet<Waiter> = certain.flat_map(|f| f.waiters.clone()).collect();
    for task in in_long_poll(snapshot) {
        if explained.contains(&Waiter::Task(task.id)) {
            continue;
        }
        let time = task.poll_ms.unwrap_or_default();
        let waiter = Waiter::Task(task.id);
        let waits = graph.waits(waiter).iter();
        let sleeps = waits.filter(|wait| wait.blocks_thread);
        let waits = sleeps.map(|&wait| wait.clone()).collect();
        // The name of a root has its location.
        let place = match &task.location {
            place if !task.is_root => format!(", spawned at {},", short(place)),
            _ => String::new(),
        };
        found.push(Finding {
            certainty: Certainty::Probable,
            kind: KIND.into(),
            summary: format!(
                "{}{place} has kept {} in one poll for {time} ms, which may still end",
                of_waiter(snapshot, waiter),
                of_waiter(snapshot, Waiter::Thread(task.thread)),
            ),
            waiters: vec![waiter],
            waits,
            further: Vec::new(),
        });
    }
}

/// Adds to the findings about long polls what their threads do: one that sleeps waits for something that has no record.
#[cfg(all(any(unix, windows), feature = "records"))]
pub(crate) fn add_states(snapshot: &Snapshot, findings: &mut [Finding]) {
    for finding in findings.iter_mut().filter(|f| f.kind == KIND) {
        // The wait says more.
        let mut waits = finding.waits.iter();
        if waits.any(|wait| wait.semantics.mode != Mode::Unknown) {
            continue;
        }
        let mut tasks = finding.waiters.iter().filter_map(|waiter| waiter.task());
        let task = tasks.find_map(|id| snapshot.task(id));
        if let Some(does) = task.and_then(|task| activity_of_thread(snapshot, task.thread)) {
            finding.summary += &format!(": the thread {does}");
        }
    }
}

/// Returns what a thread does, with the line of the program, as far as that is known.
pub fn activity_of_thread(snapshot: &Snapshot, thread: u64) -> Option<String> {
    let mut stacks = snapshot.stacks.iter();
    let stack = stacks.find(|stack| stack.thread == thread && !stack.state.is_empty())?;
    let mut frames = stack.frames.iter();
    let place = frames.find(|frame| is_of_program(frame));
    let place = place.map(|frame| format!(", at {}", short(&frame.location)));
    Some(format!("{}{}", stack.state, place.unwrap_or_default()))
}
