//! `PerProcess`: data in a `static` that a forked child begins anew. (In this crate, because its table of
//! sleepers is such data.)
//!
//! `fork` copies all memory and only one thread. The entries of a global list of the parent (its
//! runtimes, its children, its threads' fibers) mean nothing in the child. A lock that
//! another thread held at the fork would stay locked there for ever. So each process has data
//! and a lock of its own:
//!
//! 1. A handler of `pthread_atfork` adds 1 to [`generation`] in the child, before any other code
//!    of the child runs. It is registered before the first data are made.
//! 2. The data say in which generation they were made. An access that finds another generation, or
//!    no data, makes new ones and publishes them by compare-and-swap; the loser of a race frees its
//!    own.
//! 3. Published data are never freed, so a reference to them is valid in the parent for ever. The
//!    child leaves the parent's data behind, and never touches their lock.

#[cfg_attr(any(not(unix), loom), path = "per_process/no_forks.rs")]
mod forks;

use std::fmt;
use std::ops::Deref;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Global data, and the lock around them; see the module documentation.
pub struct PerProcess<T> {
    current: AtomicPtr<Data<T>>,
    make: fn() -> T,
}

struct Data<T> {
    generation: u32,
    value: T,
}

impl<T> PerProcess<T> {
    /// Creates a place whose data are made by `make`, once in each process that asks for them.
    pub const fn new(make: fn() -> T) -> Self {
        Self {
            current: AtomicPtr::new(ptr::null_mut()),
            make,
        }
    }

    #[cold]
    fn begin(&self, former: *mut Data<T>) -> &T {
        watch_forks();
        let own = Box::into_raw(Box::new(Data {
            generation: generation(),
            value: (self.make)(),
        }));
        let published =
            (self.current).compare_exchange(former, own, Ordering::AcqRel, Ordering::Acquire);
        let data = published.map_or_else(
            |of_another| {
                // SAFETY: it comes from the box above, and no other thread has seen it.
                drop(unsafe { Box::from_raw(own) });
                of_another
            },
            |_| own,
        );
        // SAFETY: published data are never freed, and the pointer is not null: it is `own`, or the
        // one by which another thread has replaced `former`.
        &unsafe { &*data }.value
    }
}

impl<T> Deref for PerProcess<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        let data = self.current.load(Ordering::Acquire);
        // SAFETY: published data are never freed.
        match unsafe { data.as_ref() } {
            Some(data) if data.generation == generation() => &data.value,
            _ => self.begin(data),
        }
    }
}

impl<T> fmt::Debug for PerProcess<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerProcess").finish_non_exhaustive()
    }
}

/// [`PerProcess`] data that need no allocation in the process that makes them first: they lie in the
/// `static`, and only children allocate their own. Used for data that a wake accesses, which may come
/// from a signal handler.
pub struct StaticPerProcess<T> {
    first: T,
    of_children: PerProcess<T>,
}

impl<T> StaticPerProcess<T> {
    /// Creates a place with the data of the first process. `make` makes those of a child.
    pub const fn new(first: T, make: fn() -> T) -> Self {
        Self {
            first,
            of_children: PerProcess::new(make),
        }
    }
}

impl<T> Deref for StaticPerProcess<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // Before the first use: what no process has used is as good as new in a child.
        watch_forks();
        if generation() == 0 {
            &self.first
        } else {
            &self.of_children
        }
    }
}

impl<T> fmt::Debug for StaticPerProcess<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticPerProcess").finish_non_exhaustive()
    }
}

pub use forks::{generation, watch_forks};

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn the_first_access_makes_the_data_and_the_others_find_them() {
        static NUMBERS: PerProcess<Mutex<Vec<u32>>> = PerProcess::new(|| Mutex::new(vec![1]));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| NUMBERS.lock().unwrap().push(2));
            }
        });
        assert_eq!(*NUMBERS.lock().unwrap(), [1, 2, 2, 2, 2]);
    }

    #[test]
    #[cfg(all(unix, not(miri)))]
    fn a_child_has_its_own_even_if_the_parent_held_the_lock() {
        static NUMBER: PerProcess<Mutex<u32>> = PerProcess::new(|| Mutex::new(1));
        let mut held = NUMBER.lock().unwrap();
        *held = 2;
        // SAFETY: the child calls only the code under test, which takes no lock of another thread
        // but the allocator's, and that one is made free in a child by the C library.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let status = i32::from(*NUMBER.lock().unwrap() != 1 || generation() == 0);
            // SAFETY: it ends this process without running what the test harness registered.
            unsafe { libc::_exit(status) };
        }
        let mut status = 0;
        // SAFETY: `status` is a place for a number.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0);
        assert_eq!((*held, generation()), (2, 0));
    }
}
