//! Barriers for tasks: a round of one task, which is the cost of passing.

use crate::scenarios::prelude::*;

/// One contender's body: it passes a barrier of one, as its leader.
macro_rules! body {
    ($barrier:ty) => {
        |cx| {
            let barrier = CachePadded::new(<$barrier>::new(1));
            repeat(cx, "rounds that were passed as their leader", |_| {
                let barrier: &$barrier = black_box(&barrier);
                poll_now(barrier.wait()).is_some_and(|round| round.is_leader())
            })
        }
    };
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let peers: [(&str, Body); 3] = [
        (OURS, body!(blitz_io_sync::task::Barrier)),
        ("tokio", body!(tokio::sync::Barrier)),
        ("async-lock", body!(async_lock::Barrier)),
    ];
    let scenario = Scenario::new(1, "barrier", "Barrier of one, wait", SYNC_OPS);
    vec![scenario.with_all(peers)]
}
