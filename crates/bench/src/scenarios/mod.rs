//! The scenarios.
//!
//! There is one file for each family. It has the bodies, and a table of the contenders: the
//! name, the type and the operations of each. A new peer is one line of the table. A new family
//! is one file and one line of `FAMILIES`; this is also how a tier gets its first scenario.

/// Writes a family's table of contenders: a name and a type each, and their bodies, one for each
/// scenario.
macro_rules! contenders {
    (
        <$type:ident: $family:path> { $($scenario:ident: $kind:ty = $body:expr),+ $(,)? }
        $($name:expr => $contender:ty),+ $(,)?
    ) => {
        /// One contender's bodies.
        struct Peer {
            name: &'static str,
            $($scenario: $kind),+
        }

        impl Peer {
            const fn of<$type: $family>(name: &'static str) -> Peer {
                Peer { name, $($scenario: $body),+ }
            }
        }

        const PEERS: [Peer; [$($name),+].len()] = [$(Peer::of::<$contender>($name)),+];
    };
}

/// The same body with each contender on its own runtime: our type, Tokio's, and smol's.
macro_rules! on_own_runtimes {
    ($body:ident: $ours:ty, $tokio:ty, $smol:ty $(,)?) => {{
        use $crate::{runtimes, tasks::OwnRuntime};
        let table: [(&str, fn(&Context) -> Measured); 3] = [
            (OURS, $body::<$ours, OwnRuntime<runtimes::Blitz>>),
            ("tokio", $body::<$tokio, OwnRuntime<runtimes::Tokio>>),
            ("smol", $body::<$smol, OwnRuntime<runtimes::Smol>>),
        ];
        table
    }};
}

mod barrier;
mod channel;
#[cfg(all(target_os = "linux", feature = "cpp-peers"))]
mod cpp;
mod io;
#[cfg(target_os = "linux")]
mod ipc;
mod mutex;
mod parker;
mod pipeline;
mod pool;
#[cfg(target_os = "linux")]
mod processes;
mod runtime;
mod rwlock;
mod semaphore;
mod task;

use crate::scenario::Scenario;

/// A family, or a part of one.
type Family = fn() -> Vec<Scenario>;

/// The families. Within a tier their scenarios run in this order.
const FAMILIES: &[Family] = &[
    task::scenarios,
    mutex::scenarios,
    rwlock::scenarios,
    semaphore::scenarios,
    barrier::scenarios,
    parker::scenarios,
    channel::scenarios,
    runtime::scenarios,
    pool::scenarios,
    #[cfg(target_os = "linux")]
    ipc::scenarios,
    io::scenarios,
    pipeline::scenarios,
    #[cfg(all(target_os = "linux", feature = "cpp-peers"))]
    cpp::scenarios,
];

/// Returns every scenario, in the order in which they run: tier by tier.
///
/// ```
/// let scenarios = blitz_io_bench::scenarios::registry();
/// assert!(scenarios.iter().any(|s| s.id == "mutex_uncontended"));
/// ```
pub fn registry() -> Vec<Scenario> {
    let mut scenarios = all(FAMILIES);
    // The sort is stable, which keeps the order of the families within a tier.
    scenarios.sort_by_key(|scenario| scenario.tier);
    scenarios
}

fn all(families: &[Family]) -> Vec<Scenario> {
    families.iter().flat_map(|family| family()).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use crate::scenario::Context;
    use crate::work::Work;

    /// Creates a context with enough operations for a body to show what it does.
    pub(crate) fn context() -> Context {
        Context {
            ops: 2_000,
            workers: 2,
            microsecond: Work::calibrate(Duration::from_micros(1)),
        }
    }
}
