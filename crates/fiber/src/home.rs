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
//! 1. Only code of the thread touches a block, and only while [`HERE`] or [`ENDING`] has the number of its extent.
//! 2. The future compares these numbers, which no other extent of the process has, before it uses the address. If
//!    they differ, the future was moved to another thread, or the extent has ended. Then it does nothing.
//! 3. If [`HERE`] is the same, the future may resume the stack, and free the block: when the fiber has ended, or
//!    after the drop of the future has unwound it. This takes the block out of the list.
//! 4. The end of the extent moves the number from [`HERE`] to [`ENDING`], and takes the whole list. So no future
//!    frees a block of it any more. Then it marks the fibers one by one ([`Header::ends`]), and unwinds
//!    each. If a destructor on one of these stacks polls or drops a future, this resumes or unwinds its fiber, unless
//!    that has the mark. At last the thread changes [`ENDING`], and after that frees the blocks.
//!
//! So a block is freed once: by 3 while it is in the list, or by 4 when no future can reach it any more. And a stack
//! that is being unwound is never resumed: its future is being dropped, or finds the mark. Fibers that destructors
//! begin at the end have another number, and are in the list. 4 repeats until there are none.
//!
//! # Tasks whose fiber was ended
//!
//! Nothing else would wake the task of a fiber that the end of its extent has unwound: the future for which the
//! fiber waited was dropped. So after step 4 the thread deals with the task:
//!
//! 1. The future of a fiber that was spawned is its task's only one. The thread cancels the task. Any thread that
//!    runs tasks of the runtime can complete it, as the drop of the future does nothing there (rule 2): the fiber's
//!    own thread may have ended. The task is complete only after the destructors on the stack have run.
//! 2. Another future may contain the fiber. The thread wakes the task. If a poll comes to a fiber that has been
//!    unwound, it cancels the task and is pending, so that the task is dropped after this poll. If the waker
//!    is not a task's of this library, the poll panics.
//!
//! In each case the task ends as an aborted one does: nothing panics in it.
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
use blitz_io_runtime::pinned;

use crate::switch::Switch;

/// The extent of a fiber.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home(u64);

thread_local! {
    /// The extent of this thread, if a fiber has begun in it.
    static HERE: Cell<Option<Home>> = const { Cell::new(None) };
    /// The extent of this thread whose fibers are being unwound.
    static ENDING: Cell<Option<Home>> = const { Cell::new(None) };
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
        ENDING.set(None);
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

    /// Returns `true` if the caller is at the end of this extent.
    pub(crate) fn is_ending(self) -> bool {
        ENDING.get() == Some(self)
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
    /// The place in the thread's list.
    place: Cell<usize>,
    /// The fiber was unwound at the end of its extent, or is being unwound.
    ends: Cell<bool>,
    /// The future of the fiber is its task's only one.
    is_task: bool,
    /// Wakes the task of the fiber.
    waker: Cell<Option<Waker>>,
    unwind: unsafe fn(NonNull<Header>),
    free: unsafe fn(NonNull<Header>),
}

impl<T: 'static> Begun<T> {
    /// Puts a fiber of this thread, which is in an extent with fibers, into the list.
    pub(crate) fn new(switch: Switch<T>, is_task: bool) -> NonNull<Self> {
        let begun = recycle::allocate::<Self>();
        REGISTERED.with(|registered| {
            let mut list = registered.begun.borrow_mut();
            let header = Header {
                place: Cell::new(list.len()),
                ends: Cell::new(false),
                is_task,
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
    /// The caller is in the fiber's extent, or at its end. The block is not freed, and the fiber does not run.
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

    /// Returns `true` if the end of the extent, or a drop during it, has begun to unwind the fiber.
    ///
    /// # Safety
    ///
    /// The extent is [`ENDING`].
    pub(crate) unsafe fn has_unwound(begun: NonNull<Self>) -> bool {
        // SAFETY: by rules 1 and 4 the block is not freed.
        unsafe { (*begun.as_ptr()).header.ends.get() }
    }

    /// Unwinds a fiber at the end of its extent, unless that has begun already.
    ///
    /// # Safety
    ///
    /// The extent is [`ENDING`].
    pub(crate) unsafe fn unwind_at_end(begun: NonNull<Self>) {
        // SAFETY: by rules 1 and 4 the block is not freed.
        let has_begun = unsafe { (*begun.as_ptr()).header.ends.replace(true) };
        if !has_begun {
            // SAFETY: the fiber does not run: its future is being dropped, or the caller is the end of the extent,
            // whose frame is on the thread's own stack.
            unsafe { Self::switch(begun) }.unwind();
        }
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
    /// The header is that of such a fiber, whose extent is [`ENDING`].
    unsafe fn unwind(header: NonNull<Header>) {
        // SAFETY: the header is the first field of a block.
        let unwind = || unsafe { Self::unwind_at_end(header.cast()) };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(unwind)) {
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
    while let Some(home) = HERE.take() {
        let taken = REGISTERED.try_with(|registered| registered.begun.take());
        let taken = taken.unwrap_or_default();
        ENDING.set(Some(home));
        // The newest first.
        for header in taken.iter().rev() {
            // SAFETY: the fibers in the list have begun in this extent, which is ending.
            unsafe { (header.as_ref().unwind)(*header) };
        }
        ENDING.set(None);
        for header in taken {
            // SAFETY: it was unwound, and no future uses it any more.
            unsafe { free(header) };
        }
    }
}

/// Frees a fiber that was unwound at the end of its extent, and cancels or wakes its task.
///
/// # Safety
///
/// Nothing uses it any more.
unsafe fn free(header: NonNull<Header>) {
    // SAFETY: by this function's contract.
    let (waker, is_task) = unsafe {
        let Header { waker, is_task, .. } = header.as_ref();
        let of_task = (waker.take(), *is_task);
        (header.as_ref().free)(header);
        of_task
    };
    let Some(waker) = waker else {
        return;
    };
    let tells = AssertUnwindSafe(|| {
        if !is_task || !pinned::cancel(&waker) {
            waker.wake();
        }
    });
    if let Err(payload) = catch_unwind(tells) {
        // A waker must not keep the other fibers from being freed.
        std::mem::forget(payload);
    }
}
