//! A task that blocks the thread of its simulation, by a wait without a time limit.
//!
//! One thread runs all tasks. If a task holds a lock of std over an `await`, and another task takes that lock, the thread sleeps until
//! the first task releases it. That needs this thread. A wait that another thread ends soon looks the same, so the thread checks
//! the wait again after each [`SLICE`] of real time ([`watch`]):
//!
//! * If no other thread can end the wait, the process ends: nothing of a test can continue, and no panic may leave a function
//!   of the C library.
//! * Otherwise, after [`SLICES`] of them, a message says once which task waits where.
//!
//! # No other thread can end the wait
//!
//! `is_hopeless` (`interposed/blocked.rs`) is `true` only if all of this holds, checked in this order:
//!
//! 1. The wait is for a word that no other process has (a private futex).
//! 2. The process has no threads but these:
//!    * this one, and those that wait to join it (`joiners.rs`);
//!    * the inspector's clock, which sleeps and stores the time;
//!    * the main thread of the harness of Rust's tests, which sleeps in a wait of its own. It shares nothing with a test but the
//!      channel of its result, and begins no test before it has woken.
//!
//!    A thread that ends is counted until its last store.
//! 3. The word still has the value for which the wait is. By (2), no thread is left that changes it.
//!
//! The handler of a signal is no thread, and may not release a lock. A wait that only such a handler would end counts as hopeless.

use std::time::Duration;

use blitz_io_inspect::{OwnStack, short_place, snapshot_of_tasks};

/// The thread looks again after so much real time.
pub(super) const SLICE: Duration = Duration::from_millis(250);
/// Number of slices after which a message comes.
const SLICES: u32 = 12;

/// How a part of a wait has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part<R> {
    /// The wait is over.
    Ended(R),
    TimedOut,
}

/// Waits in parts. `tell` is called once when that has taken long, and at once if `is_hopeless` (then with `true`): in a process
/// this call does not return. Returns `None` if it does.
pub(super) fn watch<R>(
    mut is_hopeless: impl FnMut() -> bool,
    mut wait: impl FnMut() -> Part<R>,
    mut tell: impl FnMut(bool),
) -> Option<R> {
    let mut parts: u32 = 0;
    loop {
        if is_hopeless() {
            tell(true);
            return None;
        }
        if parts == SLICES {
            tell(false);
        }
        match wait() {
            Part::Ended(result) => return Some(result),
            Part::TimedOut => parts = parts.saturating_add(1),
        }
    }
}

/// A task that blocks the thread.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Waiting {
    /// The name of the test.
    pub(in crate::sim) test: Option<String>,
    /// The seed of the run; `None` if it is a replay.
    pub(in crate::sim) seed: Option<u64>,
    /// The decisions of the run until now, unless they are too many for a message.
    pub(in crate::sim) trace: Option<String>,
    /// Its number in the run; `None` outside of tasks.
    pub(in crate::sim) task: Option<u64>,
    /// The calls that have led to the wait.
    pub(in crate::sim) stack: OwnStack,
    /// No other thread can end the wait.
    pub(in crate::sim) is_hopeless: bool,
}

impl Waiting {
    /// Returns the message. `task`: the number of the task in the process.
    #[allow(dead_code, reason = "where nothing is taken over")]
    pub(super) fn describe(&self, task: Option<u64>) -> String {
        let tasks = snapshot_of_tasks(|other| Some(other) == task).tasks;
        let known = tasks.iter().find(|known| Some(known.id) == task);
        let spawned_at = known.map_or("", |task| short_place(&task.location));
        self.message(spawned_at, &self.stack.calls())
    }

    /// `calls`: the innermost first.
    fn message(&self, spawned_at: &str, calls: &[String]) -> String {
        let test = self.test.as_deref().unwrap_or("a test");
        let long = if self.is_hopeless {
            "for ever"
        } else {
            "and has done so for seconds"
        };
        let what = match self.task {
            Some(_) => "no other task runs",
            None => "no task runs",
        };
        let seed = self.seed.map(|seed| format!("seed {seed}"));
        let trace = self.trace.as_ref();
        let trace = trace.map(|trace| format!("BLITZ_SIM_TRACE={trace} until now"));
        let run: Vec<String> = seed.into_iter().chain(trace).collect();
        let run = run.join(", ");
        let task = match (self.task, spawned_at) {
            (None, _) => "outside of tasks".to_owned(),
            (Some(1), _) => "task 1, the test itself".to_owned(),
            (Some(task), "") => format!("task {task}"),
            (Some(task), at) => format!("task {task}, spawned at {at}"),
        };
        let calls: String = calls.iter().map(|call| format!("    {call}\n")).collect();
        let end = match &self.test {
            _ if !self.is_hopeless => "Another thread may end this wait, so it goes on.".to_owned(),
            Some(test) => format!(
                "No other thread can end this wait, so the process ends, without the reports of its other tests: \
                 `cargo test -- --skip {test}` has them."
            ),
            None => "No other thread can end this wait, so the process ends.".to_owned(),
        };
        format!(
            "the simulation of `{test}` blocks its thread, {long}: {what}\n  {run}\n  {task}, in\n{calls}  The usual \
             cause: a lock of std or parking_lot that another task holds over an `await`. Drop its guard before, or use \
             `blitz_io::sync::Mutex`.\n  {end}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Returns what a wait has told that ends after so many parts, and is hopeless after others.
    fn told(ends_after: usize, hopeless_after: usize) -> (Option<u32>, Vec<(usize, bool)>) {
        let (parts, told) = (RefCell::new(0), RefCell::default());
        let result = watch(
            || *parts.borrow() >= hopeless_after,
            || {
                *parts.borrow_mut() += 1;
                if *parts.borrow() > ends_after {
                    Part::Ended(7)
                } else {
                    Part::TimedOut
                }
            },
            |is_hopeless| {
                let told: &RefCell<Vec<_>> = &told;
                told.borrow_mut().push((*parts.borrow(), is_hopeless));
            },
        );
        (result, told.take())
    }

    #[test]
    fn a_long_wait_tells_once_and_a_hopeless_one_at_once() {
        const NEVER: usize = usize::MAX;
        let long = SLICES as usize;
        assert_eq!(told(0, NEVER), (Some(7), vec![]));
        assert_eq!(told(long - 1, NEVER), (Some(7), vec![]));
        assert_eq!(told(long * 5, NEVER), (Some(7), vec![(long, false)]));
        assert_eq!(told(NEVER, 0), (None, vec![(0, true)]));
        assert_eq!(
            told(NEVER, long + 3),
            (None, vec![(long, false), (long + 3, true)])
        );
    }

    #[test]
    fn the_message_has_the_run_the_task_and_the_cause() {
        let mut waiting = Waiting {
            test: Some("pool::is_fair".into()),
            seed: Some(17),
            trace: Some("1:4.1".into()),
            task: Some(3),
            stack: OwnStack::take(),
            is_hopeless: false,
        };
        let calls = ["pool::get, at src/pool.rs:40".to_owned()];
        let text = waiting.message("src/pool.rs:9", &calls);
        for part in [
            "the simulation of `pool::is_fair` blocks its thread, and has done so for seconds",
            "seed 17, BLITZ_SIM_TRACE=1:4.1 until now\n",
            "task 3, spawned at src/pool.rs:9, in\n    pool::get, at src/pool.rs:40\n",
            "that another task holds over an `await`",
            "so it goes on",
        ] {
            assert!(text.contains(part), "{text}");
        }
        (waiting.is_hopeless, waiting.task, waiting.seed) = (true, Some(1), None);
        let text = waiting.message("", &calls);
        assert!(!text.contains("seed"), "{text}");
        for part in [
            "for ever",
            "task 1, the test itself, in\n",
            "the process ends, without the reports",
            "`cargo test -- --skip pool::is_fair` has them.\n",
        ] {
            assert!(text.contains(part), "{text}");
        }
        waiting.test = None;
        let text = waiting.message("", &calls);
        assert!(text.ends_with("so the process ends.\n"), "{text}");
    }
}
