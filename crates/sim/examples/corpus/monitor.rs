//! A value under a mutex of pthreads with a condition.
//!
//! A free lock of std makes no call, so threads do not change there under simulation. Those of pthreads are
//! calls in every case, as in programs of C and C++.

use std::cell::UnsafeCell;
use std::mem::zeroed;
use std::time::Duration;

/// The value and its lock.
pub struct Monitor<T> {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    condition: UnsafeCell<libc::pthread_cond_t>,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached with the mutex only, one thread at a time.
unsafe impl<T: Send> Sync for Monitor<T> {}

// SAFETY: neither part depends on a thread while the lock is free, and the owner that moves the monitor does not hold it.
unsafe impl<T: Send> Send for Monitor<T> {}

impl<T> Monitor<T> {
    /// Creates a monitor. It must not move after its first use.
    pub const fn new(value: T) -> Monitor<T> {
        Monitor {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            condition: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER),
            value: UnsafeCell::new(value),
        }
    }

    /// Executes `f` with the lock.
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the mutex is initialised, and it is not locked by this thread: `f` gets no monitor.
        unsafe { libc::pthread_mutex_lock(self.mutex.get()) };
        // SAFETY: this thread holds the mutex until after the last use of the reference.
        let result = f(unsafe { &mut *self.value.get() });
        // SAFETY: this thread holds the mutex.
        unsafe { libc::pthread_mutex_unlock(self.mutex.get()) };
        result
    }

    /// Waits until `f` returns something.
    pub fn wait<R>(&self, mut f: impl FnMut(&mut T) -> Option<R>) -> R {
        self.until(None, &mut f).expect("no limit")
    }

    /// Waits until `f` returns something, or for `limit`.
    pub fn wait_for<R>(
        &self,
        limit: Duration,
        mut f: impl FnMut(&mut T) -> Option<R>,
    ) -> Option<R> {
        // SAFETY: all fields may be zero, and the call fills them in.
        let mut end: libc::timespec = unsafe { zeroed() };
        // SAFETY: `end` is a valid place.
        unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &mut end) };
        let nanoseconds = end.tv_nsec as u64 + u64::from(limit.subsec_nanos());
        end.tv_sec += (limit.as_secs() + nanoseconds / 1_000_000_000) as libc::time_t;
        end.tv_nsec = (nanoseconds % 1_000_000_000) as libc::c_long;
        self.until(Some(end), &mut f)
    }

    fn until<R>(
        &self,
        end: Option<libc::timespec>,
        f: &mut dyn FnMut(&mut T) -> Option<R>,
    ) -> Option<R> {
        // SAFETY: the mutex and the condition live as long as the monitor, and the condition is only used with this mutex.
        unsafe {
            libc::pthread_mutex_lock(self.mutex.get());
            let found = loop {
                if let Some(found) = f(&mut *self.value.get()) {
                    break Some(found);
                }
                let status = match &end {
                    None => libc::pthread_cond_wait(self.condition.get(), self.mutex.get()),
                    Some(end) => {
                        libc::pthread_cond_timedwait(self.condition.get(), self.mutex.get(), end)
                    }
                };
                if status == libc::ETIMEDOUT {
                    break f(&mut *self.value.get());
                }
            };
            libc::pthread_mutex_unlock(self.mutex.get());
            found
        }
    }

    /// Wakes one thread that waits.
    pub fn notify_one(&self) {
        // SAFETY: the condition is initialised.
        unsafe { libc::pthread_cond_signal(self.condition.get()) };
    }

    /// Wakes all threads that wait.
    pub fn notify_all(&self) {
        // SAFETY: the condition is initialised.
        unsafe { libc::pthread_cond_broadcast(self.condition.get()) };
    }
}
