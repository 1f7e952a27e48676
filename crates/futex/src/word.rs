use crate::atomic::{AtomicU32, Ordering};

/// Four aligned bytes that a thread can sleep on.
pub(crate) trait Word {
    /// Returns the address of the four bytes.
    fn address(&self) -> *const ();

    /// Returns whether the bytes, read as one number, are `expected`. For back ends that
    /// compare in this process, before the system does or instead of it.
    fn holds(&self, expected: u32) -> bool;
}

impl Word for AtomicU32 {
    #[inline]
    fn address(&self) -> *const () {
        std::ptr::from_ref(self).cast()
    }

    #[inline]
    fn holds(&self, expected: u32) -> bool {
        // Relaxed: the caller's own accesses to the word provide the ordering it needs.
        self.load(Ordering::Relaxed) == expected
    }
}
