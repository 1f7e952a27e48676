//! Polls that last, each of which keeps a thread.

use blitz_io_observe::Kind;

use crate::graph::Graph;
use crate::names::{of_waiter, short};
use crate::snapshot::{Certainty, Finding, Snapshot, Task, Wait, Waiter};

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
    for task in in_long_poll(snapshot) {
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
            kind: "long-poll".into(),
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
