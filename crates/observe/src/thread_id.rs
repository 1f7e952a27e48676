//! A number for each thread that asks for one, never given twice.

#[cfg_attr(loom, path = "thread_id/number_model.rs")]
mod number;

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
