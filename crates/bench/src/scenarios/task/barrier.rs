//! Barriers for tasks: a round of one task, which is the cost of passing.

use std::hint::black_box;

use crossbeam_utils::CachePadded;

use crate::poll::poll_now;
use crate::scenario::{Context, Measured, OURS, Sample, Scenario, verify};
use crate::settings::SYNC_OPS;
use crate::threads::solo;

/// A barrier for a fixed number of tasks.
trait Rounds {
    fn new(tasks: usize) -> Self;
    /// Passes at once and returns whether this task leads, or `None` if it had to wait.
    fn pass(&self) -> Option<bool>;
}

/// One contender's body.
type Body = fn(&Context) -> Measured;

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
    let (span, led) = solo(|| {
        let mut led = 0u64;
        for _ in 0..cx.ops {
            let barrier: &B = black_box(&barrier);
            led += u64::from(barrier.pass() == Some(true));
        }
        led
    });
    verify("rounds that were passed as their leader", cx.ops, led)?;
    Ok(Sample::new(span, cx.ops))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::tests::context;

    /// A barrier without a leader.
    struct Leaderless;

    impl Rounds for Leaderless {
        fn new(_tasks: usize) -> Self {
            Leaderless
        }
        fn pass(&self) -> Option<bool> {
            Some(false)
        }
    }

    #[test]
    fn a_barrier_without_leaders_is_caught() {
        let failure = alone::<Leaderless>(&context()).unwrap_err().to_string();
        assert!(failure.contains("found 0"), "{failure}");
    }
}
