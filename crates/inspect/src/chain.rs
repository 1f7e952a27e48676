//! `chain`: from a wait to what holds it up, and on to what holds that up.

use crate::graph::Graph;
use crate::snapshot::{Snapshot, Wait, Waiter};

/// Returns the waits from a thread or task on, each of which the next one's waiter can end, and the
/// thread or task after the last one. That waits for nothing that has a record, or the chain has come
/// back to it. It is `None` if it is not known. Of several waits or holders, the first is followed.
///
/// # Examples
///
/// ```
/// use blitz_io_inspect::{Snapshot, Waiter, chain};
///
/// let (waits, last) = chain(&Snapshot::default(), Waiter::Task(7));
/// assert!(waits.is_empty());
/// assert_eq!(last, Some(Waiter::Task(7)));
/// ```
#[must_use]
pub fn chain(snapshot: &Snapshot, from: Waiter) -> (Vec<Wait>, Option<Waiter>) {
    let graph = Graph::new(snapshot);
    let mut waits: Vec<Wait> = Vec::new();
    let mut next = Some(from);
    while let Some(waiter) = next {
        if waits.iter().any(|wait| wait.waiter == waiter) {
            break;
        }
        let Some(&wait) = graph.waits(waiter).first() else {
            break;
        };
        waits.push(wait.clone());
        next = graph.enders(wait).waiters.first().copied();
    }
    (waits, next)
}
