//! Wakers that have yet to be called.

use std::cell::Cell;
use std::fmt;
use std::task::Waker;

use blitz_io_core::{Panics, Wake};
use blitz_io_observe::trace;

#[cfg(completions)]
use crate::kernel::completion::Retired;
use crate::kernel::selector::{Memory, NO_MEMORY};

/// The wakers that a poll has collected, so that a scheduler can queue all their tasks and
/// then wake other workers once. Keeps its memory from one poll to the next.
///
/// Dropping it wakes those that are left, as [`wake_all`](Wakers::wake_all) does: every waiter that
/// was taken out of a queue is woken. While the thread panics, a waker's panic is dropped.
#[derive(Default)]
pub struct Wakers {
    wakers: Vec<Waker>,
    /// The memory of a poll.
    pub(crate) memory: Memory,
    /// Operations of the kernel that have ended. Freed last.
    #[cfg(completions)]
    retired: Vec<Retired>,
}

impl Wakers {
    /// Creates an empty collection.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            wakers: Vec::new(),
            memory: NO_MEMORY,
            #[cfg(completions)]
            retired: Vec::new(),
        }
    }

    /// Returns the number of wakers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.wakers.len()
    }

    /// Returns `true` if there are no wakers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.wakers.is_empty()
    }

    pub(crate) fn extend(&mut self, wakers: impl IntoIterator<Item = Waker>) {
        self.wakers.extend(wakers);
    }

    #[cfg(completions)]
    pub(crate) fn retire(&mut self, retired: Retired) {
        self.retired.push(retired);
    }

    pub(crate) fn push_wake(&mut self, wake: Wake) {
        match wake {
            Wake::Task(waker) => self.wakers.push(waker),
            // Only tasks wait here.
            other => other.wake(),
        }
    }

    /// Wakes all, in the order of their events. The caller must not hold a lock. If a waker
    /// panics, the others are woken nevertheless, and the first panic is resumed.
    pub fn wake_all(&mut self) {
        self.wake_each().go_on();
    }

    fn wake_each(&mut self) -> Panics {
        let mut panics = Panics::new();
        for waker in self.wakers.drain(..) {
            panics.put_off(|| waker.wake());
        }
        #[cfg(completions)]
        panics.put_off(|| self.retired.clear());
        panics
    }
}

/// Calls the wakers that `poll` has collected, when it has returned. The memory for them stays with the
/// thread, so that a poll allocates nothing.
///
/// # Panics
///
/// Panics if a waker does, as [`wake_all`](Wakers::wake_all) says.
///
/// # Examples
///
/// ```
/// use blitz_io_driver::{Driver, waking};
///
/// let driver = Driver::new(1024, None)?;
/// let reports = waking(|wakers| driver.poll(wakers));
/// assert!(!reports.woken);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn waking<R>(poll: impl FnOnce(&mut Wakers) -> R) -> R {
    thread_local! {
        static WAKERS: Cell<Wakers> = const { Cell::new(Wakers::new()) };
    }
    // A thread that ends may have dropped its collection, and a waker may poll a driver itself.
    let mut wakers = WAKERS.try_with(Cell::take).unwrap_or_default();
    let result = poll(&mut wakers);
    {
        let _system = trace::Waking::new(trace::Source::System);
        wakers.wake_all();
    }
    _ = WAKERS.try_with(|kept| kept.set(wakers));
    result
}

impl fmt::Debug for Wakers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wakers")
            .field("len", &self.wakers.len())
            .finish_non_exhaustive()
    }
}

impl Drop for Wakers {
    fn drop(&mut self) {
        if !self.wakers.is_empty() {
            self.wake_each().go_on_in_drop();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use blitz_io_testing::{Wakings, panic_of, shouting_waker};

    use super::*;

    #[test]
    fn a_panic_of_a_waker_goes_on_also_if_the_wakers_are_dropped() {
        let (count, counting) = Wakings::new();
        let filled = || {
            let mut wakers = Wakers::new();
            wakers.extend([shouting_waker(), counting.clone()]);
            wakers
        };
        let of_all = panic_of(|| filled().wake_all());
        let of_drop = panic_of(|| drop(filled()));
        assert_eq!((of_all, count.count()), (of_drop, 2));
        // The thread panics already.
        let wakers = filled();
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let _wakers = wakers;
            panic!("the first");
        }));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"the first"));
        assert_eq!(count.count(), 3);
    }
}
