//! The scopes of a fiber, which leave the thread and come back with it: points 2 to 4 of the list in
//! `scopes.rs`.

use std::cell::Cell;
use std::ptr;

use super::{Link, Suspension, innermost, links, set_innermost};

thread_local! {
    /// The first fiber that waits in scopes.
    static WAITING: Cell<*const FiberScopes> = const { Cell::new(ptr::null()) };
}

impl Link {
    /// Holds the lease, if the scope has one: the fiber suspends.
    fn take_lease(&self) {
        if let (Suspension::Leases(lease), false) = (self.suspension, self.holds.replace(true)) {
            // SAFETY: as `leasing` says; from now on it is held.
            unsafe { &*lease }.hold();
        }
    }

    fn exchange_now(&self, this: *const Self) {
        // SAFETY: `this` points to the object of which this is the link.
        unsafe { (self.exchange)(this) };
    }
}

/// Returns `true` if a fiber of this thread waits in a scope with this key.
#[must_use]
pub fn waits_in<K>(key: *const K) -> bool {
    let mut next = WAITING.get();
    // SAFETY: a fiber that waits leaves the list before its stack is freed.
    while let Some(fiber) = unsafe { next.as_ref() } {
        // SAFETY: the fiber waits in these scopes.
        let mut links = unsafe { links(fiber.outermost.get(), ptr::null()) };
        if links.any(|link| ptr::addr_eq(link.key, key)) {
            return true;
        }
        next = fiber.next.get();
    }
    false
}

/// The scopes of a fiber. This value does not move on the fiber's stack, which is never freed while
/// the fiber waits.
pub struct FiberScopes {
    /// The innermost scope of the poll that resumed the fiber.
    base: Cell<*const Link>,
    /// The fiber's outermost scope while it waits in scopes.
    outermost: Cell<*const Link>,
    next: Cell<*const FiberScopes>,
    previous: Cell<*const FiberScopes>,
}

impl FiberScopes {
    /// Creates the scopes of a fiber that begins on this thread.
    #[inline]
    #[must_use]
    #[expect(
        clippy::new_without_default,
        reason = "it depends on the thread's state"
    )]
    pub fn new() -> Self {
        Self {
            base: Cell::new(innermost()),
            outermost: Cell::new(ptr::null()),
            next: Cell::new(ptr::null()),
            previous: Cell::new(ptr::null()),
        }
    }

    /// Returns `true` if none of the fiber's scopes forbids its suspension.
    #[inline(always)]
    #[must_use]
    pub fn may_suspend(&self) -> bool {
        self.are_none() || self.allow()
    }

    #[inline(always)]
    fn are_none(&self) -> bool {
        ptr::eq(innermost(), self.base.get())
    }

    #[cold]
    fn allow(&self) -> bool {
        // SAFETY: the fiber runs in these scopes.
        let mut links = unsafe { links(innermost(), self.base.get()) };
        links.all(|link| link.suspension != Suspension::Forbidden)
    }

    /// Takes the fiber's scopes off the thread: the fiber suspends.
    ///
    /// # Safety
    ///
    /// The fiber runs on this thread, as the innermost one, and the next call is one of
    /// [`resume`](Self::resume).
    #[inline(always)]
    pub unsafe fn suspend(&self) {
        if !self.are_none() {
            self.leave();
        }
    }

    #[cold]
    fn leave(&self) {
        let base = self.base.get();
        let (mut link, mut inner) = (innermost(), ptr::null());
        while !ptr::eq(link, base) {
            // SAFETY: the fiber runs in these scopes.
            let here = unsafe { &*link };
            here.take_lease();
            here.exchange_now(link);
            let outer = here.next.replace(inner);
            (inner, link) = (link, outer);
        }
        set_innermost(base);
        self.outermost.set(inner);
        let next = WAITING.replace(self);
        self.next.set(next);
        self.previous.set(ptr::null());
        // SAFETY: a fiber that waits leaves the list before its stack is freed.
        if let Some(next) = unsafe { next.as_ref() } {
            next.previous.set(self);
        }
    }

    /// Puts the fiber's scopes back: the fiber is resumed.
    ///
    /// # Safety
    ///
    /// It has suspended, on this thread.
    #[inline(always)]
    pub unsafe fn resume(&self) {
        self.base.set(innermost());
        if !self.outermost.get().is_null() {
            self.come_back();
        }
    }

    #[cold]
    fn come_back(&self) {
        let (mut link, mut outer) = (self.outermost.replace(ptr::null()), innermost());
        while !link.is_null() {
            // SAFETY: the fiber has waited in these scopes.
            let here = unsafe { &*link };
            here.exchange_now(link);
            let inner = here.next.replace(outer);
            (outer, link) = (link, inner);
        }
        set_innermost(outer);
        let (previous, next) = (self.previous.get(), self.next.get());
        // SAFETY: a fiber that waits leaves the list before its stack is freed.
        unsafe {
            match previous.as_ref() {
                Some(previous) => previous.next.set(next),
                None => WAITING.set(next),
            }
            if let Some(next) = next.as_ref() {
                next.previous.set(previous);
            }
        }
    }
}
