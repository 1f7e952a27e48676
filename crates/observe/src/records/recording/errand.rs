//! Runs a function in a thread that sleeps, such as one that captures the thread's stack.
//!
//! # Protocol
//!
//! 1. The sender puts the function and the number of the thread's wait into `sent`, and stores the
//!    number in `WANTED`.
//! 2. It wakes all threads that sleep on the thread's futex. Each of them looks at the condition
//!    that it waits for, finds that it does not hold, and sleeps again.
//! 3. On its way the thread drops its [`Sleeping`](super::Sleeping). If `WANTED` is its wait, it takes
//!    the function from `sent`, leaves `Running` there, runs it, stores `None`, and notifies the sender.
//! 4. The sender repeats step 2 each millisecond until the thread has taken the function. If it finds
//!    no record of the wait [`ATTEMPTS`] times, it takes the function back.
//!
//! # The sender gets an answer, and the right one
//!
//! There is no model of this: loom has no time, and the argument does not need an order of memory.
//!
//! 1. `sent` changes under its lock only, and no two senders use it at once. So either the thread takes
//!    the function and runs it once, or the sender takes it back and it never runs.
//! 2. A wake-up is lost if the thread is on its way to the futex, and a thread may not see `WANTED`
//!    yet. In both cases it sleeps with a record afterwards, so the sender finds the record and wakes
//!    it again.
//! 3. A wait has one number, also if its thread sleeps several times. If the wait has ended, or its
//!    thread stays awake, attempts find no record, and step 4 ends after `ATTEMPTS` of them.
//! 4. A sender that finds `Running` waits without a limit, as the function ends. The thread stores
//!    `None` under the lock before it notifies, so the sender sees it or is waiting.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use blitz_io_futex::SplitWord;

use super::registry;
use blitz_io_futex::per_process::PerProcess;

/// The time between two attempts to wake the thread.
const AGAIN: Duration = Duration::from_millis(1);
/// Number of attempts without a record that end the errand.
const ATTEMPTS: u32 = 100;

/// The wait whose thread has work to do, or 0. A hint, so that other threads take no lock.
static WANTED: AtomicU64 = AtomicU64::new(0);
static ERRANDS: PerProcess<Errands> = PerProcess::new(Errands::default);

#[derive(Default)]
struct Errands {
    /// Serialises senders.
    sender: Mutex<()>,
    sent: Mutex<Errand>,
    is_done: Condvar,
}

#[derive(Default)]
enum Errand {
    #[default]
    None,
    Sent(u64, Box<dyn FnOnce() + Send>),
    Running,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` in the thread that sleeps in the wait with this number, and blocks until it has run.
/// Returns whether it has: the wait may have ended before. `work` must not panic.
pub fn run_in_sleeping_thread(wait: u64, work: impl FnOnce() + Send + 'static) -> bool {
    let errands = &*ERRANDS;
    let _sender = lock(&errands.sender);
    *lock(&errands.sent) = Errand::Sent(wait, Box::new(work));
    WANTED.store(wait, Ordering::Release);
    let is_done = errands.wait(wait);
    WANTED.store(0, Ordering::Relaxed);
    is_done
}

impl Errands {
    fn wait(&self, wait: u64) -> bool {
        let mut missed = 0;
        let mut sent = lock(&self.sent);
        loop {
            match &*sent {
                Errand::None => return true,
                Errand::Running => {
                    sent = self
                        .is_done
                        .wait(sent)
                        .unwrap_or_else(PoisonError::into_inner);
                    continue;
                }
                Errand::Sent(..) if missed == ATTEMPTS => {
                    *sent = Errand::None;
                    return false;
                }
                Errand::Sent(..) => {}
            }
            drop(sent);
            match registry::word_of(wait) {
                Some(word) => {
                    SplitWord::wake_all(std::ptr::without_provenance(word));
                }
                None => missed += 1,
            }
            let guard = lock(&self.sent);
            (sent, _) = self
                .is_done
                .wait_timeout(guard, AGAIN)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Runs the work that was sent to the wait of this thread, if any.
#[inline]
pub(super) fn run_if_sent(wait: u64) {
    if WANTED.load(Ordering::Acquire) == wait {
        run(wait);
    }
}

#[cold]
fn run(wait: u64) {
    let errands = &*ERRANDS;
    let mut sent = lock(&errands.sent);
    if !matches!(&*sent, Errand::Sent(to, _) if *to == wait) {
        return;
    }
    let Errand::Sent(_, work) = std::mem::replace(&mut *sent, Errand::Running) else {
        return;
    };
    drop(sent);
    work();
    *lock(&errands.sent) = Errand::None;
    errands.is_done.notify_all();
}
