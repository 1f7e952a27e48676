//! `Chains`: from a wait to what holds it up, and on to what holds that up.

use std::fmt;

use crate::graph::Graph;
use crate::snapshot::{Snapshot, Wait, Waiter};

/// The chains of waits of a snapshot.
///
/// # Examples
///
/// ```
/// use blitz_io_inspect::{Chains, Snapshot};
///
/// let snapshot = Snapshot::default();
/// let chains = Chains::new(&snapshot);
/// for wait in &snapshot.waits {
///     let (waits, last) = chains.from(wait);
///     println!("{} waits, and then {last:?}", waits.len());
/// }
/// ```
pub struct Chains<'a>(Graph<'a>);

impl<'a> Chains<'a> {
    /// Prepares a snapshot for [`from`](Self::from).
    #[must_use]
    pub fn new(snapshot: &'a Snapshot) -> Self {
        Self(Graph::new(snapshot))
    }

    /// Returns the wait, and those that hold it up: the waiter of each can end the one before. The second
    /// value is the thread or task that can end the last one. It has no recorded wait, or the chain has
    /// come back to it; it is `None` if it is not known. A reader is held up by the writer in front of it. Of several waits or holders, the first is
    /// followed.
    #[must_use]
    pub fn from(&self, wait: &'a Wait) -> (Vec<&'a Wait>, Option<Waiter>) {
        let mut waits = vec![wait];
        let mut next = self.0.first_ender(wait);
        while let Some(waiter) = next {
            if waits.iter().any(|wait| wait.waiter == waiter) {
                break;
            }
            let Some(&wait) = self.0.waits(waiter).first() else {
                break;
            };
            waits.push(wait);
            next = self.0.first_ender(wait);
        }
        (waits, next)
    }
}

impl fmt::Debug for Chains<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chains").finish_non_exhaustive()
    }
}
