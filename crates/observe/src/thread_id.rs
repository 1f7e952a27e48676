//! A number for each thread that asks for one, never given twice.

use std::num::NonZeroUsize;

/// Tells threads apart, also from those that have ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ThreadId(NonZeroUsize);

impl ThreadId {
    /// Returns the number of this thread. Works while the thread ends, too.
    #[inline(always)]
    pub fn current() -> Self {
        number::current()
    }

    /// Returns the number itself.
    #[inline(always)]
    pub const fn get(self) -> NonZeroUsize {
        self.0
    }
}

#[cfg(not(loom))]
mod number {
    use std::cell::Cell;
    use std::num::NonZeroUsize;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::ThreadId;

    thread_local! {
        static CURRENT: Cell<Option<ThreadId>> = const { Cell::new(None) };
    }

    #[inline(always)]
    pub(super) fn current() -> ThreadId {
        match CURRENT.get() {
            Some(id) => id,
            None => first_time(),
        }
    }

    #[cold]
    fn first_time() -> ThreadId {
        static LAST: AtomicUsize = AtomicUsize::new(0);
        // The last number is never passed, so none is given twice.
        let next = |last: usize| last.checked_add(1);
        let last = LAST
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
            .expect("fewer threads than numbers");
        let id = ThreadId(NonZeroUsize::MIN.saturating_add(last));
        CURRENT.set(Some(id));
        id
    }
}

/// The threads of a model are numbered by the model.
#[cfg(loom)]
mod number {
    use std::num::NonZeroUsize;

    use super::ThreadId;

    pub(super) fn current() -> ThreadId {
        let text = format!("{:?}", loom::thread::current().id());
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        ThreadId(NonZeroUsize::MIN.saturating_add(digits.parse().unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::ThreadId;

    #[test]
    fn threads_that_have_ended_keep_their_numbers() {
        let here = ThreadId::current();
        assert_eq!(here, ThreadId::current());
        let number = || std::thread::spawn(ThreadId::current).join().unwrap();
        let (one, two) = (number(), number());
        assert!(one != two && one != here && two != here);
    }
}
