//! Sockets: TCP echo and connections that come and go (tier 6).
//!
//! Each contender serves on a runtime of its own with I/O, which is started once and
//! kept. The client is the same for all: one thread with a poll of its own, or threads that
//! block. It checks every byte, and the clock runs around it.

mod accept;
mod client;
mod echo;
mod server;

use crate::scenario::{Context, Measured, OURS, Scenario};

/// One contender's body, which is told how many workers its runtime has.
type Body = fn(&Context, usize) -> Measured;

/// The numbers of workers that are measured.
const WORKERS: [usize; 2] = [1, 2];

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = echo::scenarios();
    scenarios.extend(accept::scenarios());
    scenarios
}

/// One scenario for each number of workers, with the bodies of ours, Tokio and smol.
fn for_each((id, title, ops): (&str, &str, u64), [ours, tokio, smol]: [Body; 3]) -> Vec<Scenario> {
    let with = |workers: usize| {
        Scenario::new(6, format!("{id}_{workers}"), title, ops)
            .threads(workers)
            .with(OURS, move |cx| ours(cx, workers))
            .with("tokio", move |cx| tokio(cx, workers))
            .with("smol", move |cx| smol(cx, workers))
    };
    WORKERS.map(with).into()
}
