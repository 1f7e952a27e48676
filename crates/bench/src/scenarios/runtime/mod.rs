//! Runtimes: the costs of spawning, yielding, waiting and being woken (tier 5), with 1, 2
//! and 4 workers.
//!
//! Each contender runs on its own runtime, which is started once and kept. Unless a
//! scenario says otherwise, the clock runs inside a task of the runtime. So it measures
//! neither the wake-up of the first worker nor that of the thread that waits for the
//! result.

mod blocking;
mod fiber;
mod join_set;
mod memory;
mod ping_pong;
mod spawn;
mod timers;
mod wake;
mod yields;

use std::thread;

use super::all;
use crate::runtimes::{Runtime, Spawn};
use crate::scenarios::prelude::*;

pub(super) fn scenarios() -> Vec<Scenario> {
    all(&[
        spawn::scenarios,
        yields::scenarios,
        ping_pong::scenarios,
        join_set::scenarios,
        timers::scenarios,
        blocking::scenarios,
        wake::scenarios,
        memory::scenarios,
        fiber::scenarios,
    ])
}

/// The numbers of workers that are measured.
const WORKERS: [usize; 3] = [1, 2, 4];

/// One contender's body, which is given the number of its runtime's workers.
type Body = BodyOf<usize>;

/// Creates the scenario for each of these numbers of workers.
fn for_each(
    workers: &[usize],
    what: (&str, &str, u64),
    bodies: &[(&'static str, Body)],
) -> Vec<Scenario> {
    super::for_each(5, workers, what, bodies)
}

/// Creates one scenario for each number of workers, in which all runtimes run the same body.
macro_rules! on_runtimes {
    ($what:expr, $body:ident $(, $argument:literal)?) => {
        $crate::scenarios::runtime::for_each(
            &$crate::scenarios::runtime::WORKERS,
            $what,
            &[
                ($crate::scenario::OURS, $body::<$crate::runtimes::Blitz $(, $argument)?>),
                ("tokio", $body::<$crate::runtimes::Tokio $(, $argument)?>),
                ("smol", $body::<$crate::runtimes::Smol $(, $argument)?>),
            ],
        )
    };
}
use on_runtimes;

/// Runs `work` as a task of the runtime, and measures it from inside.
fn on_task<R: Runtime, F: Spawn>(runtime: R, work: F) -> (Span, F::Output) {
    quiesce();
    let task = runtime.spawn_from_outside(async move {
        let start = Mark::now();
        let value = work.await;
        (Mark::now().since(start), value)
    });
    runtime.block_on(task)
}

/// Awaits all tasks, and returns their values.
async fn join_all<T>(tasks: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut values = Vec::with_capacity(tasks.len());
    for task in tasks {
        values.push(task.await);
    }
    values
}

/// Lets the workers of the runtime that ran before fall asleep.
fn quiesce() {
    thread::sleep(Duration::from_millis(1));
}

/// Returns the sum of the numbers from 0 to `count - 1`.
fn sum_below(count: u64) -> u64 {
    count * count.saturating_sub(1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::Liar;

    /// Returns the report of the verification about a runtime that does half the work.
    fn caught(body: Body) -> String {
        body(&context(), 2).unwrap_err().to_string()
    }

    #[test]
    fn half_the_work_is_caught() {
        for (body, what) in [
            (join_set::joined::<Liar> as Body, "tasks that were joined"),
            (timers::cancelled::<Liar>, "timers that were started"),
            (timers::fired::<Liar>, "a sleep that ended too early"),
            (ping_pong::OVER_ONESHOTS_OF_A_LIAR, "messages of both sides"),
            (ping_pong::OVER_CHANNELS_OF_A_LIAR, "messages of both sides"),
        ] {
            let failure = caught(body);
            assert!(failure.starts_with(what), "{what}: {failure}");
        }
        let failure = memory::idle::<Liar>(&context()).unwrap_err().to_string();
        assert!(failure.starts_with("tasks that waited"), "{failure}");
    }
}
