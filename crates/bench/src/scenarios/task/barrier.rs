//! Barriers for tasks: a round of one task, which is the cost of passing.

use std::hint::black_box;

use crossbeam_utils::CachePadded;

use crate::poll::poll_now;
use crate::scenario::{Context, Measured, OURS, Scenario};
use crate::scenarios::{Body, repeat};
use crate::settings::SYNC_OPS;

/// A barrier for a fixed number of tasks.
trait Rounds {
    fn new(tasks: usize) -> Self;
    /// Passes at once and returns whether this task leads, or `None` if it had to wait.
    fn pass(&self) -> Option<bool>;
}

/// Makes the contenders: a name and a type.
macro_rules! peers {
    ($($name:expr, $barrier:ty;)+) => {
        $(impl Rounds for $barrier {
            fn new(tasks: usize) -> Self {
                Self::new(tasks)
            }
            #[inline]
            fn pass(&self) -> Option<bool> {
                Some(poll_now(self.wait())?.is_leader())
            }
        })+

        const PEERS: [(&str, Body); [$($name),+].len()] = [$(($name, alone::<$barrier>)),+];
    };
}

peers! {
    OURS, blitz_io_sync::task::Barrier;
    "tokio", tokio::sync::Barrier;
    "async-lock", async_lock::Barrier;
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let scenario = Scenario::new(1, "barrier", "Barrier of one, wait", SYNC_OPS);
    vec![scenario.with_all(PEERS)]
}

fn alone<B: Rounds>(cx: &Context) -> Measured {
    let barrier = CachePadded::new(B::new(1));
    repeat(cx, "rounds that were passed as their leader", |_| {
        let barrier: &B = black_box(&barrier);
        barrier.pass() == Some(true)
    })
}
