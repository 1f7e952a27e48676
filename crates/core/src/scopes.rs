//! Scopes: what a thread keeps as long as a function runs.
//!
//! Such a function changes a thread-local variable, runs a closure, and restores the variable. That
//! needs scopes which end in the reverse order of their beginnings, as calls of one stack do. A fiber
//! that waits leaves its calls before they return: the thread continues below them, and with other fibers.
//! So a scope belongs to the stack on which it began, and moves with it.
//!
//! # The list
//!
//! A thread has a list of the scopes that it is in, innermost first. Each is a [`Link`] in the frame
//! of its function.
//!
//! 1. A scope exchanges the variable's value with its own, and becomes the innermost one. At its end
//!    it does the reverse.
//! 2. A fiber remembers the innermost scope of the poll that resumed it: its *base*. The scopes
//!    before the base in the list are the fiber's.
//! 3. When the fiber suspends, its scopes exchange their values back, the innermost first, and leave
//!    the list. So the variables are as they were before the poll.
//! 4. When it is resumed, they exchange them again, the outermost first, and come before the scopes
//!    of that poll, which may be others than before. At its end, each scope restores the value that its
//!    variable had at the resumption.
//!
//! A scope is a function with a closure, never a guard that a program could keep. So a fiber cannot end
//! a scope of its base, and its scopes end in the reverse order of their beginnings.
//!
//! # Variables with a pointer
//!
//! If the variable is a pointer, a function may pass a reference to its target on to a closure of
//! the program, as `LocalKey::with` does. The scope that owns it does not end before the closure: both
//! are calls of one stack. Unless the closure runs in a fiber that suspends there, and the owner is outside
//! of that fiber. For this there are two answers:
//!
//! - The owner has a [`Lease`], which is held from the fiber's first suspension until the closure
//!   ends. As long as it is held, the owner keeps the value; if it cannot, it ends the process.
//! - The fiber must not suspend there ([`FiberScopes::may_suspend`]).
//!
//! # Waits for fibers that wait
//!
//! A thread also has a list of the fibers which wait in scopes. Some code would block the thread until
//! another call of the same thread has ended ([`waits_in`]), and must not.

mod fibers;

use std::cell::Cell;
use std::ptr;

use crate::{Lease, OnDrop};

pub use fibers::{FiberScopes, waits_in};

#[cfg(not(loom))]
thread_local! {
    static INNERMOST: Cell<*const Link> = const { Cell::new(ptr::null()) };
}

// The threads of a model share one thread of the system.
#[cfg(loom)]
loom::thread_local! {
    static INNERMOST: Cell<*const Link> = Cell::new(ptr::null());
}

fn innermost() -> *const Link {
    INNERMOST.with(Cell::get)
}

fn set_innermost(link: *const Link) {
    INNERMOST.with(|innermost| innermost.set(link));
}

/// One scope.
struct Link {
    /// The next link in the list. While a fiber waits, the next link inside.
    next: Cell<*const Link>,
    /// Identifies what the scope is for.
    key: *const (),
    suspension: Suspension,
    /// `true` while the scope holds its lease.
    holds: Cell<bool>,
    exchange: unsafe fn(*const Link),
}

/// The effect of a scope on the suspension of its fiber.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Suspension {
    Allowed,
    /// The scope must hold this lease when its fiber suspends.
    Leases(*const Lease),
    Forbidden,
}

impl Link {
    fn new(key: *const (), suspension: Suspension, exchange: unsafe fn(*const Link)) -> Self {
        Self {
            next: Cell::new(ptr::null()),
            key,
            suspension,
            holds: Cell::new(false),
            exchange,
        }
    }

    /// Runs `run` with the link in the list.
    ///
    /// # Safety
    ///
    /// `this` points to the link at the start of an object that neither moves nor ends before this returns.
    #[inline(always)]
    unsafe fn during<R>(this: *const Self, run: impl FnOnce() -> R) -> R {
        // SAFETY: by this function's contract, the link exists until the call returns.
        let link = unsafe { &*this };
        link.next.set(innermost());
        set_innermost(this);
        let _end = OnDrop(|| {
            set_innermost(link.next.get());
            if link.holds.get() {
                link.give_back();
            }
        });
        run()
    }

    #[cold]
    fn give_back(&self) {
        if let Suspension::Leases(lease) = self.suspension {
            // SAFETY: it was held at the first suspension.
            unsafe { Lease::give_back(lease) };
        }
    }
}

/// A scope that has a value in a thread-local variable.
#[repr(C)]
struct Exchange<T: Copy> {
    link: Link,
    variable: *const Cell<T>,
    /// The scope's own value, or the value that it replaces.
    other: Cell<T>,
}

impl<T: Copy> Exchange<T> {
    /// # Safety
    ///
    /// `link` is that of an `Exchange<T>`.
    unsafe fn exchange(link: *const Link) {
        // SAFETY: by this function's contract, the link is the first field of an `Exchange<T>`.
        unsafe { &*link.cast::<Self>() }.exchange_now();
    }

    #[inline(always)]
    fn exchange_now(&self) {
        // SAFETY: the variable lives as long as the thread, see `with`.
        let variable = unsafe { &*self.variable };
        self.other.set(variable.replace(self.other.get()));
    }

    /// # Safety
    ///
    /// See [`with`].
    #[inline(always)]
    unsafe fn during<R>(
        variable: *const Cell<T>,
        value: T,
        suspension: Suspension,
        run: impl FnOnce() -> R,
    ) -> R {
        let scope = Self {
            link: Link::new(variable.cast(), suspension, Self::exchange),
            variable,
            other: Cell::new(value),
        };
        scope.exchange_now();
        let _end = OnDrop(|| scope.exchange_now());
        // SAFETY: the link is the first field, and the scope stays in this frame.
        unsafe { Link::during((&raw const scope).cast(), run) }
    }
}

/// Runs `run` with `value` in a thread-local variable, and then restores its former value.
///
/// # Safety
///
/// The variable is one of this thread, and has no destructor: it exists as long as the thread.
#[inline(always)]
pub unsafe fn with<T: Copy, R>(variable: *const Cell<T>, value: T, run: impl FnOnce() -> R) -> R {
    // SAFETY: the contract of this function is that of `during`.
    unsafe { Exchange::during(variable, value, Suspension::Allowed, run) }
}

/// Like [`with`], but for a closure with a reference to a value. The lease is held if the closure's fiber
/// suspends in it.
///
/// # Safety
///
/// See [`with`]. The owner of the value also keeps it, and the lease, as long as the lease is held; and until
/// the closure ends, if no fiber suspends in that. Fibers of other threads do not hold it.
#[inline(always)]
pub unsafe fn leasing<T: Copy, R>(
    variable: *const Cell<T>,
    value: T,
    lease: *const Lease,
    run: impl FnOnce() -> R,
) -> R {
    // SAFETY: the contract of this function is that of `during`, and keeps the lease for its holder.
    unsafe { Exchange::during(variable, value, Suspension::Leases(lease), run) }
}

/// Like [`with`], but for a closure in which no fiber may suspend.
///
/// # Safety
///
/// See [`with`].
#[inline(always)]
pub unsafe fn at_once<T: Copy, R>(
    variable: *const Cell<T>,
    value: T,
    run: impl FnOnce() -> R,
) -> R {
    // SAFETY: the contract of this function is that of `during`.
    unsafe { Exchange::during(variable, value, Suspension::Forbidden, run) }
}

/// Runs `run` in a scope that only [`is_in`] and [`waits_in`] notice.
#[inline]
pub fn marked<K, R>(key: *const K, run: impl FnOnce() -> R) -> R {
    let link = Link::new(key.cast(), Suspension::Allowed, |_| ());
    // SAFETY: the link stays in this frame.
    unsafe { Link::during(&raw const link, run) }
}

/// Returns `true` if this thread, or the fiber that runs on it, is in a scope with this key.
#[must_use]
pub fn is_in<K>(key: *const K) -> bool {
    let is_it = |link: &&Link| ptr::addr_eq(link.key, key);
    // SAFETY: the thread is in these scopes.
    unsafe { links(innermost(), ptr::null()) }.any(|link| is_it(&link))
}

/// Returns the scopes from `first` up to `end`.
///
/// # Safety
///
/// The scopes do not end before the last use.
unsafe fn links<'a>(first: *const Link, end: *const Link) -> impl Iterator<Item = &'a Link> {
    let mut next = first;
    std::iter::from_fn(move || {
        if ptr::eq(next, end) {
            return None;
        }
        // SAFETY: by this function's contract, the scope has not ended.
        let link = unsafe { &*next };
        next = link.next.get();
        Some(link)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static VALUE: Cell<u32> = const { Cell::new(0) };
    }

    fn value_is<R>(value: u32, run: impl FnOnce() -> R) -> R {
        // SAFETY: it has no destructor.
        unsafe { with(VALUE.with(ptr::from_ref), value, run) }
    }

    #[test]
    fn a_scope_ends_with_what_was_there() {
        value_is(1, || {
            value_is(2, || assert_eq!(VALUE.get(), 2));
            assert_eq!(VALUE.get(), 1);
            let panic = std::panic::catch_unwind(|| value_is(3, || panic!("on purpose")));
            assert!(panic.is_err());
            assert_eq!(VALUE.get(), 1);
        });
        assert_eq!(VALUE.get(), 0);
        assert!(innermost().is_null());
    }

    /// A fiber's suspension and resumption, without a stack of its own.
    #[test]
    fn the_scopes_of_a_fiber_come_and_go_with_it() {
        let key = 0_u8;
        value_is(1, || {
            let fiber = FiberScopes::new();
            value_is(2, || {
                value_is(3, || {
                    marked(&raw const key, || {
                        // SAFETY: suspensions and resumptions alternate, on this thread.
                        unsafe { fiber.suspend() };
                        assert_eq!(VALUE.get(), 1);
                        assert!(!is_in(&raw const key) && waits_in(&raw const key));
                        value_is(9, || {
                            // SAFETY: suspensions and resumptions alternate, on this thread.
                            unsafe { fiber.resume() };
                            assert_eq!(VALUE.get(), 3);
                            assert!(is_in(&raw const key) && !waits_in(&raw const key));
                            // SAFETY: suspensions and resumptions alternate, on this thread.
                            unsafe { fiber.suspend() };
                            assert_eq!(VALUE.get(), 9);
                        });
                        // SAFETY: suspensions and resumptions alternate, on this thread.
                        unsafe { fiber.resume() };
                    });
                });
                assert_eq!(VALUE.get(), 2);
            });
            assert_eq!(VALUE.get(), 1);
        });
    }

    #[test]
    fn a_lease_is_held_from_the_first_suspension_to_the_end_of_the_closure() {
        let lease = Lease::new();
        let fiber = FiberScopes::new();
        let closure = || {
            assert!(!lease.is_held());
            for _ in 0..2 {
                // SAFETY: suspensions and resumptions alternate, on this thread.
                unsafe { fiber.suspend() };
                assert!(lease.is_held());
                // SAFETY: suspensions and resumptions alternate, on this thread.
                unsafe { fiber.resume() };
                assert!(lease.is_held());
            }
        };
        // SAFETY: the variable has no destructor, and the lease stays.
        unsafe { leasing(VALUE.with(ptr::from_ref), 7, &raw const lease, closure) };
        assert!(!lease.is_held());
    }

    #[test]
    fn a_scope_may_forbid_that_its_fiber_suspends() {
        // SAFETY: it has no destructor.
        let at_once = |run: &dyn Fn()| unsafe { at_once(VALUE.with(ptr::from_ref), 7, run) };
        at_once(&|| assert!(FiberScopes::new().may_suspend()));
        let fiber = FiberScopes::new();
        at_once(&|| value_is(2, || assert!(!fiber.may_suspend())));
        value_is(1, || assert!(fiber.may_suspend()));
    }
}
