//! Fork-join (tier 7): empty loops, a counter, recursion, uneven items, and a task that
//! awaits a loop. Each contender has its own pool with the same number of threads, created
//! before the clock starts.

use crate::scenarios::prelude::*;

mod awaits;
mod contenders;
mod join;
mod loops;
#[cfg(target_env = "musl")]
mod no_fork_union;

pub(super) fn scenarios() -> Vec<Scenario> {
    let pause = Duration::from_millis(5);
    let mut scenarios = Vec::new();
    for threads in [2, 4] {
        let empty = |id, title, ops, pause| loops::empty(id, title, ops, threads, pause);
        scenarios.push(empty("pool_empty", "Empty loop", 20_000, Duration::ZERO));
        let title = "Empty loop after a pause of 5 ms";
        scenarios.push(empty("pool_empty_idle", title, 100, pause));
        // The short ones show what a loop costs that is too short to gain from threads.
        for (name, len) in [
            ("256", 256),
            ("1k", 1 << 10),
            ("2k", 2 << 10),
            ("4k", 4 << 10),
            ("8k", 8 << 10),
            ("16k", 16 << 10),
            ("64k", 64 << 10),
            ("256k", 256 << 10),
            ("1m", 1 << 20),
            ("16m", 16 << 20),
        ] {
            scenarios.push(loops::counter(name, len, threads));
        }
        scenarios.extend([
            join::recursion(threads),
            join::tree(threads),
            loops::uneven(threads),
            awaits::awaits(threads),
            loops::processor_time(threads),
        ]);
    }
    scenarios
}
