//! The threads that have waited or held something: their names, and their numbers of the system.

use std::sync::{Mutex, MutexGuard, PoisonError};

use blitz_io_futex::per_process::PerProcess;

use super::Waiter;
use crate::ThreadId;

static THREADS: PerProcess<Mutex<Vec<ThreadRecord>>> = PerProcess::new(Mutex::default);

/// A thread.
#[derive(Clone, Debug)]
pub struct ThreadRecord {
    /// Its number, which no other thread of the process ever has.
    pub number: u64,
    /// Its name, or an empty string.
    pub name: String,
    /// The system's number for it; 0 if the thread has ended, or the system has none.
    pub system: u32,
    /// The system's number that it had, if its values for threads have been dropped; 0 before. Some of them may still be dropped, so
    /// it has ended only if the system does not have this number any more.
    pub had: u32,
    /// It runs tasks and closures of runtimes, and nothing else.
    pub runs_tasks: bool,
}

/// Notes the end of its thread, as the system gives its number to another thread afterwards.
struct Here(u64);

impl Drop for Here {
    fn drop(&mut self) {
        let mut threads = threads();
        let here = threads.iter_mut().rfind(|thread| thread.number == self.0);
        if let Some(here) = here {
            here.had = std::mem::take(&mut here.system);
        }
    }
}

fn threads() -> MutexGuard<'static, Vec<ThreadRecord>> {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the name of the current thread for reports.
pub(super) fn name_thread(number: u64) {
    thread_local! {
        static HERE: Here = Here(ThreadId::current().get().get() as u64);
    }
    let thread = std::thread::current();
    let name = thread.name().unwrap_or_default().to_owned();
    threads().push(ThreadRecord {
        number,
        name,
        system: if HERE.try_with(|_| ()).is_ok() {
            system_number()
        } else {
            0
        },
        had: 0,
        runs_tasks: false,
    });
}

/// Notes that the current thread runs tasks and closures of a runtime until it ends, and nothing else.
pub fn runs_tasks() {
    // The thread may have no record before.
    let number = Waiter::current().number();
    let mut threads = threads();
    let here = threads.iter_mut().rfind(|thread| thread.number == number);
    if let Some(here) = here {
        here.runs_tasks = true;
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn system_number() -> u32 {
    // SAFETY: the call has no preconditions.
    let number = unsafe { libc::gettid() };
    number.try_into().unwrap_or(0)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn system_number() -> u32 {
    0
}

/// Returns the threads.
pub(super) fn all() -> Vec<ThreadRecord> {
    threads().clone()
}
