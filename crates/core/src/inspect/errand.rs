//! Runs a function in a thread that sleeps, such as one that captures the thread's stack.
//!
//! 1. The sender puts the function and the number of the thread's wait into `SENT`.
//! 2. It wakes all threads that sleep on the thread's futex. Each of them looks at the condition
//!    that it waits for, finds that it does not hold, and sleeps again.
//! 3. On its way the thread drops its [`Sleeping`](super::Sleeping), finds its wait in `SENT`, takes
//!    the function, runs it, and says so in `SENT`.
//!
//! The thread may be on its way to the futex in step 2, and then it misses the wake-up. So the
//! sender repeats step 2 until the thread has taken the function, or has no record: then the wait
//! has ended, or the thread is awake for another reason and will look.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use blitz_io_futex::SplitWord;

use super::registry;
use crate::PerProcess;

/// The time between two attempts to wake the thread.
const AGAIN: Duration = Duration::from_millis(1);
/// How many attempts without a record end the errand.
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
