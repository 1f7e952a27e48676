//! The fibers of a thread.
//!
//! Only a fiber's own thread may resume its stack, also to unwind it, and only in the extent in which the
//! fiber began (`fibers.rs` of blitz-io-core says what that is, and why).
//!
//! # Who owns a suspended stack
//!
//! A fiber that has begun is a [`Begun`]: a block of memory of its thread, which the thread has in its list. The
//! future of the fiber has the block's address and the number of its extent ([`Home`]).
//!
//! 1. Only code of the thread touches a block, and only while [`HERE`] has the number of its extent.
//! 2. The future compares that number, which no other extent of the process has, before it uses the address. If
//!    the number differs, the future was moved to another thread, or the extent has ended. Then it does
//!    nothing.
//! 3. If the number is the same, the future may free the block: when the fiber has ended, or after the drop of
//!    the future has unwound it. This takes the block out of the list.
//! 4. The end of the extent takes the blocks out of the list one by one, marks them as taken, and unwinds their
//!    stacks. If a destructor on one of these stacks polls or drops a future, that future finds the
//!    mark and does not use the block. Then the thread changes [`HERE`], and after that frees the blocks.
//!
//! So a block is freed once: by 3 while it is in the list, or by 4 when no future can reach it any more. When
//! the extent ends, the list is empty: 4 repeats until that holds, since destructors may begin fibers.
//!
//! # Tasks whose fiber was ended
//!
//! The end of an extent wakes the tasks of its fibers. The next poll of such a task panics, which its
//! `JoinHandle` reports. Without that, nothing would wake the task again: the future for which its fiber waited
//! was dropped.
//!
//! # `std::process::exit`
//!
//! It runs the destructors of thread-local variables below the frames that use them, which no extent can
//! prevent. From the destructor of [`REGISTERED`] on, the thread then touches none of its fibers.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;

use blitz_io_core::{fibers, recycle};

use crate::switch::Switch;

/// The extent of a fiber.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home(u64);

thread_local! {
    /// The extent of this thread, if a fiber has begun in it.
    static HERE: Cell<Option<Home>> = const { Cell::new(None) };
    static REGISTERED: Registered = Registered::new();
}

/// A thread that has had fibers, until it ends.
struct Registered {
    /// The fibers that have begun and not ended.
    begun: RefCell<Vec<NonNull<Header>>>,
    #[cfg(unix)]
    _stack: crate::overflow::SignalStack,
}

impl Registered {
    fn new() -> Self {
        crate::running::wait_in_fibers();
        fibers::set_end(end);
        Self {
            begun: RefCell::default(),
            #[cfg(unix)]
            _stack: crate::overflow::watch(),
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        HERE.set(None);
    }
}

/// Returns the extent of this thread, in which a fiber begins.
///
/// # Panics
///
/// Outside of extents, and while the thread ends.
#[inline]
pub(crate) fn home() -> Home {
    HERE.get().unwrap_or_else(register)
}

#[cold]
fn register() -> Home {
    static LAST: AtomicU64 = AtomicU64::new(0);
    assert!(
        REGISTERED.try_with(|_| ()).is_ok(),
        "a fiber cannot begin while its thread ends"
    );
    assert!(
        fibers::begin_in_extent(),
        "a fiber was polled by an executor of another library: call that executor in `fiber::extent`"
    );
    let home = Home(LAST.fetch_add(1, Ordering::Relaxed));
    HERE.set(Some(home));
    home
}

impl Home {
    /// Returns `true` if the caller is in this extent.
    #[inline]
    pub(crate) fn is_here(self) -> bool {
        HERE.get() == Some(self)
    }
}

/// A fiber that has begun. The module documentation says who may use and free it, and when.
#[repr(C)]
pub(crate) struct Begun<T> {
    header: Header,
    switch: Switch<T>,
}

/// The part of a [`Begun`] that does not depend on the fiber's output.
struct Header {
    /// The place in the thread's list, or [`TAKEN`].
    place: Cell<usize>,
    /// Wakes the task of the fiber.
    waker: Cell<Option<Waker>>,
    unwind: unsafe fn(NonNull<Header>),
    free: unsafe fn(NonNull<Header>),
}

/// The place of a fiber that the end of its extent has taken out of the list.
const TAKEN: usize = usize::MAX;

impl<T: 'static> Begun<T> {
    /// Puts a fiber of this thread, which is in an extent with fibers, into the list.
    pub(crate) fn new(switch: Switch<T>) -> NonNull<Self> {
        let begun = recycle::allocate::<Self>();
        REGISTERED.with(|registered| {
            let mut list = registered.begun.borrow_mut();
            let header = Header {
                place: Cell::new(list.len()),
                waker: Cell::new(None),
                unwind: Self::unwind,
                free: Self::free_header,
            };
            // SAFETY: a new block of this type.
            unsafe { begun.write(Self { header, switch }) };
            list.push(begun.cast());
        });
        begun
    }

    /// Returns the switch of a fiber.
    ///
    /// # Safety
    ///
    /// The caller is in the fiber's extent, the block is not freed, and the fiber does not run.
    #[inline(always)]
    pub(crate) unsafe fn switch<'a>(begun: NonNull<Self>) -> &'a mut Switch<T> {
        // SAFETY: by rules 1 and 3 only the caller uses the block. The list refers to the other field.
        unsafe { &mut (*begun.as_ptr()).switch }
    }

    /// Keeps the waker of the fiber's task.
    ///
    /// # Safety
    ///
    /// As for [`switch`](Self::switch).
    #[inline(always)]
    pub(crate) unsafe fn keep(begun: NonNull<Self>, waker: &Waker) {
        // SAFETY: by rules 1 and 3 the block is not freed.
        let kept = unsafe { &(*begun.as_ptr()).header.waker };
        // SAFETY: only this thread uses it, and `will_wake` runs no code that could change it.
        let is_kept = unsafe { &*kept.as_ptr() }
            .as_ref()
            .is_some_and(|kept| kept.will_wake(waker));
        if !is_kept {
            kept.set(Some(waker.clone()));
        }
    }

    /// Returns `true` if the end of the extent has taken the fiber out of the list.
    ///
    /// # Safety
    ///
    /// The caller is in the fiber's extent, and the block is not freed.
    pub(crate) unsafe fn is_taken(begun: NonNull<Self>) -> bool {
        // SAFETY: by rules 1 and 3 the block is not freed.
        unsafe { (*begun.as_ptr()).header.place.get() == TAKEN }
    }

    /// Frees a fiber that has ended, and takes it out of the list.
    ///
    /// # Safety
    ///
    /// As for [`switch`](Self::switch). It is in the list, and not used any more.
    pub(crate) unsafe fn free(begun: NonNull<Self>) {
        REGISTERED.with(|registered| {
            let mut list = registered.begun.borrow_mut();
            // SAFETY: the caller has the block, and the blocks in the list are not freed.
            unsafe {
                let place = (*begun.as_ptr()).header.place.get();
                list.swap_remove(place);
                if let Some(moved) = list.get(place) {
                    moved.as_ref().place.set(place);
                }
            }
        });
        // SAFETY: the caller gives it up.
        unsafe { Self::free_header(begun.cast()) };
    }

    /// # Safety
    ///
    /// The header is that of such a fiber, in its extent, and the fiber does not run.
    unsafe fn unwind(header: NonNull<Header>) {
        // SAFETY: the header is the first field of a block, which the caller may use.
        let switch = unsafe { Self::switch(header.cast()) };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| switch.unwind())) {
            // The hook has reported it, and its destructor could panic again.
            std::mem::forget(payload);
        }
    }

    /// # Safety
    ///
    /// The header is that of such a fiber, which has ended. Nothing uses it any more.
    unsafe fn free_header(header: NonNull<Header>) {
        let begun = header.cast::<Self>();
        // SAFETY: the caller gives the block up. The value is moved out before its memory is free.
        let value = unsafe { begun.read() };
        // SAFETY: `new` has allocated it.
        unsafe { recycle::free(begun) };
        drop(value);
    }
}

/// Ends the fibers of this thread's extent.
fn end() {
    loop {
        let mut taken = Vec::new();
        while let Some(header) = take() {
            taken.push(header);
            // SAFETY: this thread is in the extent. The extent's frame is on the thread's own stack, so no
            // fiber runs.
            unsafe { (header.as_ref().unwind)(header) };
        }
        HERE.set(None);
        if taken.is_empty() {
            return;
        }
        for header in taken {
            // SAFETY: it was unwound, and no future uses it any more.
            let waker = unsafe {
                let waker = header.as_ref().waker.take();
                (header.as_ref().free)(header);
                waker
            };
            let woken = catch_unwind(AssertUnwindSafe(|| waker.map(Waker::wake)));
            // A waker must not keep the other fibers from being freed.
            woken.unwrap_or_else(|payload| {
                std::mem::forget(payload);
                None
            });
        }
    }
}

/// Takes the newest fiber out of the list.
fn take() -> Option<NonNull<Header>> {
    let taken = REGISTERED.try_with(|registered| registered.begun.borrow_mut().pop());
    let header = taken.ok().flatten()?;
    // SAFETY: it was in the list, so it is alive.
    unsafe { header.as_ref() }.place.set(TAKEN);
    Some(header)
}
