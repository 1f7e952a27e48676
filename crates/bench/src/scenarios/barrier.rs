//! Barriers: the time of a round.
//!
//! Every thread counts itself in before it waits. After the barrier of round `r` all `n`
//! arrivals of that round must be visible. Of the next round, at most `n - 1` arrivals can
//! be, because the thread that checks has not arrived. More means that a thread is a round
//! ahead.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crossbeam_utils::CachePadded;
use futures_executor::block_on;

use crate::scenario::{Context, Measured, OURS, Sample, Scenario, verify};
use crate::threads::start_all;

/// A barrier for a fixed number of threads.
trait Rounds: Sync {
    fn new(threads: usize) -> Self;
    /// Waits for all threads; returns whether this thread leads the round.
    fn wait(&self) -> bool;
}

/// One contender's body, for a given number of threads.
type Body = fn(&Context, usize) -> Measured;

/// Makes the contenders: a name, a type, and how a thread waits.
macro_rules! peers {
    ($($name:expr, $barrier:ty, |$this:ident| $wait:expr;)+) => {
        $(impl Rounds for $barrier {
            fn new(threads: usize) -> Self {
                Self::new(threads)
            }
            fn wait(&self) -> bool {
                let $this = self;
                $wait.is_leader()
            }
        })+

        const PEERS: [(&str, Body); [$($name),+].len()] = [$(($name, rounds::<$barrier>)),+];
    };
}

peers! {
    OURS, blitz_io_sync::thread::Barrier, |barrier| barrier.wait();
    "std", std::sync::Barrier, |barrier| barrier.wait();
    "tokio", tokio::sync::Barrier, |barrier| block_on(barrier.wait());
    "async-lock", async_lock::Barrier, |barrier| barrier.wait_blocking();
}

pub(super) fn scenarios() -> Vec<Scenario> {
    // A round takes longer with more threads.
    let sizes = [(2, 10_000), (4, 4_000), (8, 2_000)];
    let scenario = |(threads, ops)| {
        let id = format!("barrier_{threads}");
        let scenario = Scenario::new(4, id, "Barrier round", ops).threads(threads);
        scenario.with_all(PEERS.map(|(name, body)| (name, move |cx: &Context| body(cx, threads))))
    };
    sizes.map(scenario).into()
}

fn rounds<B: Rounds>(cx: &Context, threads: usize) -> Measured {
    let barrier = CachePadded::new(B::new(threads));
    let arrivals = CachePadded::new(AtomicU64::new(0));
    let everybody = threads as u64;
    let (span, seen) = start_all(threads, |_| {
        || {
            let (mut led, mut good_rounds) = (0u64, 0u64);
            for round in 0..cx.ops {
                arrivals.fetch_add(1, Relaxed);
                led += u64::from(barrier.wait());
                let arrived = arrivals.load(Relaxed);
                let all_here = (round + 1) * everybody;
                good_rounds += u64::from((all_here..all_here + everybody).contains(&arrived));
            }
            (led, good_rounds)
        }
    });
    let (led, good_rounds): (Vec<u64>, Vec<u64>) = seen.into_iter().unzip();
    verify("leaders", cx.ops, led.iter().sum())?;
    let what = "rounds in which all had arrived and nobody lapped";
    verify(what, cx.ops * everybody, good_rounds.iter().sum())?;
    Ok(Sample::new(span, cx.ops))
}
