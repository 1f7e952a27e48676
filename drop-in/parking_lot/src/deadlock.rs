//! Deadlock detection, with the interface of parking_lot 0.12.
//!
//! A thread that sleeps for a lock leaves a record, and a lock knows its holders. [`check_deadlock`]
//! finds cycles in these records. It then has each thread of a cycle capture its own stack; the
//! thread waits on afterwards. (In parking_lot it is parked for ever.)
//!
//! ```
//! let deadlocks = parking_lot::deadlock::check_deadlock();
//! for thread in deadlocks.iter().flatten() {
//!     println!("thread {:?}\n{:?}", thread.thread_id(), thread.backtrace());
//! }
//! assert!(deadlocks.is_empty());
//! ```

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::ThreadId;

use backtrace::Backtrace;
use blitz_io_inspect::{Certainty, Finding, Wait, findings, snapshot};
use blitz_io_observe::run_in_sleeping_thread;

/// A thread that waits for itself, or for other threads that wait for it.
#[derive(Debug)]
pub struct DeadlockedThread {
    thread_id: ThreadId,
    backtrace: Backtrace,
}

impl DeadlockedThread {
    /// Returns the thread's identifier.
    pub fn thread_id(&self) -> ThreadId {
        self.thread_id
    }

    /// Returns the thread's stack.
    pub fn backtrace(&self) -> &Backtrace {
        &self.backtrace
    }
}

/// The numbers of the reported waits. Its lock serialises calls.
static REPORTED: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

/// Returns all deadlocks that no earlier call has returned, each as the threads of a cycle.
///
/// Blocks until each of these threads has captured its stack.
pub fn check_deadlock() -> Vec<Vec<DeadlockedThread>> {
    let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    // A wait that is in both snapshots has lasted, and so has its holder's.
    let (earlier, later) = (snapshot(), snapshot());
    let mut deadlocks = Vec::new();
    for finding in findings(&earlier, &later) {
        let waits = waits_of(&finding);
        if waits.is_empty() || waits.iter().any(|wait| reported.contains(&wait.id)) {
            continue;
        }
        reported.extend(waits.iter().map(|wait| wait.id));
        let threads: Vec<_> = waits.into_iter().filter_map(capture).collect();
        deadlocks.push(threads);
    }
    deadlocks
}

/// Returns the waits of a cycle in which threads sleep, or none if the finding is no cycle.
fn waits_of(finding: &Finding) -> Vec<&Wait> {
    let is_cycle = matches!(finding.kind.as_str(), "deadlock" | "self-wait");
    let waits = finding.waits.iter().filter(|wait| wait.blocks_thread);
    if is_cycle && finding.certainty == Certainty::Certain {
        waits.collect()
    } else {
        Vec::new()
    }
}

fn capture(wait: &Wait) -> Option<DeadlockedThread> {
    let captured = Arc::new(OnceLock::new());
    let result = captured.clone();
    let work = move || {
        _ = result.set(DeadlockedThread {
            thread_id: std::thread::current().id(),
            backtrace: Backtrace::new(),
        });
    };
    if !run_in_sleeping_thread(wait.id, work) {
        return None;
    }
    // The work, which had the other reference, has run and was dropped with its closure.
    Arc::into_inner(captured)?.into_inner()
}
