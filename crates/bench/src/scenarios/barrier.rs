//! Barriers: the time of a round.
//!
//! Every thread counts itself in before it waits. After the barrier of round `r` all `n`
//! arrivals of that round must be visible. Of the next round, at most `n - 1` arrivals can
//! be, because the thread that checks has not arrived. More means that a thread is a round
//! ahead.

use blitz_io_sync::thread::Barrier;
use futures_executor::block_on;

use crate::scenarios::prelude::*;

/// The contenders: a name, a barrier for a number of threads, and how one of them waits. Waiting
/// returns whether the thread leads the round.
const PEERS: [(&str, BodyOf<usize>); 4] = [
    (OURS, |cx, n| {
        rounds(cx, n, Barrier::new(n), |b| b.wait().is_leader())
    }),
    ("std", |cx, n| {
        rounds(cx, n, std::sync::Barrier::new(n), |b| b.wait().is_leader())
    }),
    ("tokio", |cx, n| {
        let barrier = tokio::sync::Barrier::new(n);
        rounds(cx, n, barrier, |b| block_on(b.wait()).is_leader())
    }),
    ("async-lock", |cx, n| {
        let barrier = async_lock::Barrier::new(n);
        rounds(cx, n, barrier, |b| b.wait_blocking().is_leader())
    }),
];

pub(super) fn scenarios() -> Vec<Scenario> {
    // A round takes longer with more threads.
    let sizes = [(2, 10_000), (4, 4_000), (8, 2_000)];
    let scenario = |(threads, ops)| {
        let id = format!("barrier_{threads}");
        let scenario = Scenario::new(4, id, "Barrier round", ops).threads(threads);
        scenario.with_each(threads, PEERS)
    };
    sizes.map(scenario).into()
}

pub(super) fn rounds<B: Sync>(
    cx: &Context,
    threads: usize,
    barrier: B,
    wait: impl Fn(&B) -> bool + Sync,
) -> Measured {
    let barrier = CachePadded::new(barrier);
    let arrivals = CachePadded::new(AtomicU64::new(0));
    let everybody = threads as u64;
    let (span, seen) = start_all(threads, |_| {
        || {
            let (mut led, mut good_rounds) = (0u64, 0u64);
            for round in 0..cx.ops {
                arrivals.fetch_add(1, Relaxed);
                led += u64::from(wait(&barrier));
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
