//! The links of a ring, which is an intrusive list of timers.

use std::cell::Cell;
use std::ptr;

/// The links of an entry or a slot.
#[repr(C)]
pub struct Links {
    previous: Cell<*const Links>,
    pub next: Cell<*const Links>,
}

impl Links {
    pub const fn new() -> Self {
        Self {
            previous: Cell::new(ptr::null()),
            next: Cell::new(ptr::null()),
        }
    }

    /// Makes it an empty ring. It must not move from now on.
    pub fn close(&self) {
        self.previous.set(self);
        self.next.set(self);
    }

    pub fn is_empty(&self) -> bool {
        ptr::eq(self.next.get(), self)
    }

    /// Returns the links of the first entry of a ring, or null.
    pub fn first(&self) -> *const Self {
        if self.is_empty() {
            return ptr::null();
        }
        self.next.get()
    }

    /// Puts the links of an entry behind the others of a ring.
    ///
    /// # Safety
    ///
    /// All links of the ring are alive, the entry does not move or end until it is
    /// unlinked, and it is in no ring.
    pub unsafe fn push(&self, links: *const Self) {
        let last = self.previous.get();
        // SAFETY: all links of the ring, and the entry, are alive. The pointer is the
        // entry's own, so it may be used for all of it later on.
        unsafe {
            (*links).previous.set(last);
            (*links).next.set(self);
            (*last).next.set(links);
        }
        self.previous.set(links);
    }

    /// Takes an entry out of its ring.
    ///
    /// # Safety
    ///
    /// It is in one, and the caller holds the lock of the wheel that it belongs to.
    #[inline]
    pub unsafe fn unlink(&self) {
        let (previous, next) = (self.previous.get(), self.next.get());
        // SAFETY: the caller holds the lock, and linked entries are alive.
        unsafe {
            (*previous).next.set(next);
            (*next).previous.set(previous);
        }
    }

    /// Moves all entries of `other`, in order, to this ring, which is empty.
    ///
    /// # Safety
    ///
    /// As for [`unlink`](Self::unlink), for all of them. The ring does not move before
    /// they have left it.
    pub unsafe fn take_all(&self, other: &Self) {
        self.close();
        if other.is_empty() {
            return;
        }
        let (first, last) = (other.next.get(), other.previous.get());
        self.next.set(first);
        self.previous.set(last);
        // SAFETY: the caller holds the lock, and linked entries are alive.
        unsafe {
            (*first).previous.set(self);
            (*last).next.set(self);
        }
        other.close();
    }
}
