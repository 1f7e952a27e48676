//! The threads on which a test's runs are.
//!
//! A thread-local variable keeps its value from one run on a thread to the next one. That of the standard library with the keys of
//! hash maps is such a one, and so are the generators of many packages for random numbers. A run that draws random
//! numbers where the one before has left some is not the same on another thread, and no replay is like it.
//!
//! So each run of [`OnNewThreads`] is on a thread that has not drawn any. It stays on the thread of the run before, unless that
//! run has drawn some: then it has a thread of its own. A new thread takes longer than many a run, so tests without random
//! numbers have only the first one.

use std::future::Future;
use std::panic::resume_unwind;
use std::thread;

use super::execute::{Executed, Execution, Memory, Plan, execute};
use super::joiners::Joiners;
use super::outcome::Outcome;
use super::report::Report;
use super::system;
use crate::runtime::LocalRuntime;

/// A test that can be run again and again.
pub(super) trait Runs {
    /// Runs it once. See [`execute`].
    fn execute(
        &self,
        execution: &Execution,
        plan: Plan,
        memory: Memory,
        report: &mut Report,
    ) -> (Executed, Option<LocalRuntime>);
}

/// All runs are on the calling thread.
pub(super) struct Here<'a, T>(pub(super) &'a T);

impl<T, F> Runs for Here<'_, T>
where
    T: Fn() -> F,
    F: Future<Output: Outcome> + 'static,
{
    fn execute(
        &self,
        execution: &Execution,
        plan: Plan,
        memory: Memory,
        report: &mut Report,
    ) -> (Executed, Option<LocalRuntime>) {
        execute(execution, plan, memory, report, self.0)
    }
}

/// Runs are on the calling thread until one has drawn random numbers there, and then each on a new one.
pub(super) struct OnNewThreads<'a, T>(pub(super) &'a T);

impl<T, F> Runs for OnNewThreads<'_, T>
where
    T: Fn() -> F + Sync,
    F: Future<Output: Outcome> + 'static,
{
    fn execute(
        &self,
        execution: &Execution,
        plan: Plan,
        memory: Memory,
        report: &mut Report,
    ) -> (Executed, Option<LocalRuntime>) {
        if !system::has_drawn() {
            return execute(execution, plan, memory, report, self.0);
        }
        let Memory { lists, .. } = memory;
        let executed = on_new_thread(|| {
            let runtime = None;
            execute(execution, plan, Memory { lists, runtime }, report, self.0).0
        });
        (executed, None)
    }
}

/// Runs `run` on a new thread, which has the name of this one.
pub(super) fn on_new_thread<R: Send>(run: impl FnOnce() -> R + Send) -> R {
    let joiners = Joiners::of_new_thread();
    thread::scope(|scope| {
        let mut builder = thread::Builder::new();
        if let Some(name) = thread::current().name() {
            builder = builder.name(name.to_owned());
        }
        let runs = move || {
            let _entered = joiners.enter();
            run()
        };
        let thread = builder.spawn_scoped(scope, runs);
        let thread = thread.expect("the system has a thread for a simulation");
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}
