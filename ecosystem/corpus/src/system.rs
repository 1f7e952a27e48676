//! What the programs take from the system, with shuttle's locks and threads.

use std::time::Duration;

use shuttle::sync::{Condvar, Mutex};
pub use shuttle::sync::{atomic, mpsc};
pub use shuttle::thread;

/// Starts a thread for which the program does not wait. Shuttle waits for all threads, and not for detached tasks.
pub fn spawn_background(f: impl FnOnce() + Send + 'static) {
    drop(shuttle::future::spawn(async move { f() }));
}

/// A value under a lock with a condition.
pub struct Monitor<T> {
    value: Mutex<T>,
    condition: Condvar,
}

impl<T> Monitor<T> {
    /// Creates a monitor.
    pub const fn new(value: T) -> Monitor<T> {
        Monitor {
            value: Mutex::new(value),
            condition: Condvar::new(),
        }
    }

    /// Executes `f` with the lock.
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.value.lock().unwrap())
    }

    /// Waits until `f` returns something.
    pub fn wait<R>(&self, mut f: impl FnMut(&mut T) -> Option<R>) -> R {
        let mut value = self.value.lock().unwrap();
        loop {
            if let Some(found) = f(&mut value) {
                return found;
            }
            value = self.condition.wait(value).unwrap();
        }
    }

    /// Waits until `f` returns something. Shuttle has no time, so the limit never ends the wait.
    pub fn wait_for<R>(&self, _limit: Duration, f: impl FnMut(&mut T) -> Option<R>) -> Option<R> {
        Some(self.wait(f))
    }

    /// Wakes one thread that waits.
    pub fn notify_one(&self) {
        self.condition.notify_one();
    }

    /// Wakes all threads that wait.
    pub fn notify_all(&self) {
        self.condition.notify_all();
    }
}
