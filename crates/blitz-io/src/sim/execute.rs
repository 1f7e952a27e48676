//! Executes a test once.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use blitz_io_observe::decisions;
use blitz_io_runtime::internals::restart;

use super::events::Recorder;
use super::failure::Cause;
use super::fault_counts::FaultCounts;
#[cfg(feature = "net")]
use super::hosts;
#[cfg(not(feature = "net"))]
use super::no_hosts as hosts;
use super::outcome::Outcome;
use super::panics;
use super::report::Report;
use super::run::{Ended, Limits, Run};
use super::schedule::Chooser;
use super::settings::Leaks;
use super::shrink::Tried;
use super::state::Lists;
use super::system;
use super::trace::Trace;
use super::waits::Explained;
use crate::runtime::{Builder, LocalOptions, LocalRuntime};
use crate::task::spawn_local;

/// How a test is executed.
#[derive(Clone, Copy)]
pub(super) struct Execution {
    pub(super) limits: Limits,
    pub(super) leaks: Leaks,
    /// Messages of panics are not printed.
    pub(super) is_quiet: bool,
}

/// What decides in a run.
pub(super) struct Plan {
    pub(super) chooser: Chooser,
    /// What the random numbers of the system follow from.
    pub(super) entropy: u32,
    /// The seed; `None` for a replay.
    pub(super) seed: Option<u64>,
}

impl Plan {
    /// Returns the plan that replays a trace.
    pub(super) fn replay(trace: &Trace) -> Self {
        Self {
            chooser: Chooser::replay(trace),
            entropy: trace.entropy,
            seed: None,
        }
    }

    /// Returns the plan of a run that shortens a failure.
    pub(super) fn of(tried: Tried<'_>) -> Self {
        let (chooser, entropy) = match tried {
            Tried::Of(candidate) => (Chooser::of_each(&candidate.taken), candidate.entropy),
            Tried::Drawn(draw) => (Chooser::draw(&draw), 0),
        };
        Self {
            chooser,
            entropy,
            seed: None,
        }
    }
}

/// Parts of an execution that the next one uses again.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) lists: Lists,
    /// It is like a new one, and of the thread of the execution.
    pub(super) runtime: Option<LocalRuntime>,
}

/// The result of an execution.
pub(super) struct Executed {
    pub(super) cause: Option<Cause>,
    pub(super) chooser: Chooser,
    pub(super) lists: Lists,
    pub(super) steps: u64,
    /// The simulated time.
    pub(super) time: Duration,
    pub(super) faults: FaultCounts,
    /// The entropy of the run, if it has used that; otherwise 0.
    pub(super) entropy: u32,
    /// The explanation of a failure. Only if the limits request one, it has more than what the code has asked of the system.
    pub(super) explained: Explained,
}

impl Executed {
    /// Returns the decisions of the run that were not harmless.
    pub(super) fn trace(&self) -> Trace {
        Trace::of(&self.lists.decisions, self.entropy)
    }
}

/// Runs the test once. The lists in `memory` are empty. What has happened [`sometimes`](super::sometimes) is added to the
/// report. Returns the runtime, too, if the next run may use it.
pub(super) fn execute<F>(
    execution: &Execution,
    plan: Plan,
    memory: Memory,
    report: &mut Report,
    test: &impl Fn() -> F,
) -> (Executed, Option<LocalRuntime>)
where
    F: Future<Output: Outcome> + 'static,
{
    let Plan {
        chooser,
        entropy,
        seed,
    } = plan;
    let run = Run::new(execution.limits, chooser, (entropy, seed), memory.lists);
    let _system = system::enter(&run);
    let _recorder = execution.limits.explains.then(Recorder::start);
    let _keeping = panics::keep(execution.is_quiet);
    let _entered = run.properties().enter();
    let _hosts = hosts::enter(&run);
    let runtime = memory.runtime.unwrap_or_else(new_runtime);
    let steps = || runtime.block_on(drive(&run, test));
    // A predicate, or the function that makes the future, may panic.
    if catch_unwind(AssertUnwindSafe(|| decisions::with(&*run, steps))).is_err() {
        run.fail(Cause::Panic(panics::last()));
    }
    if let Some(left) = left(&run, &runtime, execution.leaks) {
        run.fail(left);
    }
    let mut cause = run.take_cause();
    let Ended {
        chooser,
        lists,
        last_steps,
    } = run.end();
    let mut explained = Explained::default();
    if execution.limits.compares {
        explained = run.explain(&lists.tasks, &last_steps, &hosts::lasting(&run));
    } else if let Some(cause) = cause.as_mut() {
        if execution.limits.explains {
            let lasting = hosts::lasting(&run);
            explained = run.explain(&lists.tasks, &last_steps, &lasting);
            explained.name(cause);
        }
        explained.system = run.system().note(cause);
    }
    add(&run, report);
    // After a failure, tasks and timers may be left.
    let runtime = Some(runtime).filter(|runtime| cause.is_none() && restart(runtime));
    let executed = Executed {
        cause,
        chooser,
        lists,
        steps: run.steps(),
        time: run.time(),
        faults: run.take_faults(),
        entropy: run.system().used_entropy(),
        explained,
    };
    (executed, runtime)
}

fn new_runtime() -> LocalRuntime {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build_local(LocalOptions::default())
        .expect("a runtime of one thread needs nothing of the system")
}

/// Makes the test's own task, and waits for the end of the run.
async fn drive<F>(run: &Rc<Run>, test: &impl Fn() -> F)
where
    F: Future<Output: Outcome> + 'static,
{
    run.system().begin();
    run.properties().begin();
    let (own, future) = (run.clone(), test());
    drop(spawn_local(async move {
        let outcome = future.await;
        hosts::stop_hosts();
        own.main_ended(outcome.error());
    }));
    poll_fn(|_| {
        if run.is_over() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

/// Returns why a run has failed that has come to its end.
fn left(run: &Run, runtime: &LocalRuntime, leaks: Leaks) -> Option<Cause> {
    let missing = run.properties().missing(run.time());
    if missing.is_some() {
        return missing;
    }
    let (tasks, timer) = (runtime.metrics().num_alive_tasks(), run.timer_left());
    if leaks == Leaks::Allow {
        // Tasks may be left, but not wait for each other.
        return (tasks != 0).then(|| run.certain()).flatten();
    }
    if tasks != 0 || timer {
        return Some(Cause::Leak { tasks, timer });
    }
    // A predicate may be the last owner of a socket.
    run.properties().end();
    let sockets = hosts::left_sockets();
    (!sockets.is_empty()).then_some(Cause::LeakedSockets(sockets))
}

fn add(run: &Run, report: &mut Report) {
    report.runs += 1;
    report.steps += run.steps();
    for (name, times) in run.properties().sometimes.take() {
        *report.sometimes.entry(name.into_owned()).or_default() += times;
    }
}
