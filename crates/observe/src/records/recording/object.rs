//! `Object`: the field of a primitive that records its facts, in its [`Block`].

use std::panic::UnwindSafe;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::task::Waker;

use super::block::{BESIDE_READERS, Block, MOVABLE, NAMES, Probe, READER};
use super::{Acquirer, Caller, Fill, Filled, Origin, Waiter, current, lint, recorders, trace};
use crate::Kind;
use crate::decisions::{self, Note, Numbered};
use blitz_io_futex::debug_is_name;

/// The facts of a primitive; see the module documentation.
pub struct Object {
    block: AtomicPtr<Block>,
    /// Its number in a simulation.
    number: Numbered,
}

debug_is_name!(impl Object);

// A primitive of threads must not lose the trait by this field. The facts are words of their own: a panic
// breaks no invariant of them.
impl UnwindSafe for Object {}

impl Object {
    /// Creates an object without facts.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            block: AtomicPtr::new(ptr::null_mut()),
            number: Numbered::new(),
        }
    }

    /// The current task makes the object, for a simulation.
    #[inline(always)]
    pub fn is_made(&self) {
        self.number.made();
    }

    /// The current task begins an operation of this kind on the object, for a simulation.
    #[inline(always)]
    pub fn touch(&self, kind: Kind) {
        self.number.touch();
        if decisions::is_on() && recorders::traces() {
            trace::operates(self.block(), kind);
        }
    }

    /// The current task begins an operation on the object, which is a part of another one: a report does not name it.
    #[inline(always)]
    pub fn touch_part(&self) {
        self.number.touch();
    }

    /// The current task has done an operation of this kind on the object, for the report of a simulation. `text`: a sentence without
    /// its subject, with `{}` for the object.
    #[inline(always)]
    pub fn did(&self, kind: Kind, text: impl FnOnce() -> String) {
        if decisions::explains() && recorders::traces() {
            trace::operates(self.block(), kind);
            decisions::note(|| Note::Operation(kind, text()));
        }
    }

    /// Returns the block.
    #[inline]
    pub(super) fn block(&self) -> &'static Block {
        let block = self.block.load(Ordering::Acquire);
        if block.is_null() {
            return self.first_block();
        }
        // SAFETY: blocks are never freed.
        unsafe { &*block }
    }

    /// Returns the block, and the current task or thread.
    #[inline]
    fn block_and_waiter(&self) -> (&'static Block, Waiter) {
        let block = self.block.load(Ordering::Acquire);
        // SAFETY: null, or that of a block. Blocks are never freed.
        match (unsafe { block.as_ref() }, Waiter::if_known()) {
            (Some(block), Some(waiter)) => (block, waiter),
            _ => self.first_use(),
        }
    }

    /// Returns the word of the current task or thread, and its place among the readers, or `None` in the
    /// first use of the object, or of any object in this thread.
    #[inline]
    fn own_place(&self) -> Option<(&'static AtomicU64, u64)> {
        let block = self.block.load(Ordering::Acquire);
        // SAFETY: null, or that of a block. Blocks are never freed.
        let (block, waiter) = (unsafe { block.as_ref() }?, Waiter::if_known()?);
        Some((block.place_of(waiter), waiter.word()))
    }

    /// Returns the block and the waiter in the first use of the object, or of any object in this thread.
    #[cold]
    #[inline(never)]
    fn first_use(&self) -> (&'static Block, Waiter) {
        (self.block(), Waiter::current())
    }

    #[cold]
    fn first_block(&self) -> &'static Block {
        let new = Block::take();
        let place = ptr::from_ref(new).cast_mut();
        match self.block.compare_exchange(
            ptr::null_mut(),
            place,
            Ordering::AcqRel,
            Ordering::Acquire,
        ) {
            Ok(_) => new,
            Err(other) => {
                new.put_back();
                // SAFETY: blocks are never freed.
                unsafe { &*other }
            }
        }
    }

    /// Returns the number that identifies the object while it exists: [`Facts::id`](super::Facts::id).
    #[must_use]
    pub fn id(&self) -> u64 {
        self.block().id()
    }

    /// Records that the current task or thread has made the object just now, or that no other one has a reference
    /// to it yet, unless that is recorded already.
    pub fn made_here(&self) {
        self.is_made();
        let block = self.block();
        if block.maker.load(Ordering::Relaxed) == 0 {
            let origin = Origin::of_object();
            block.made.store(origin.number(), Ordering::Relaxed);
            block.maker.store(origin.maker_word(), Ordering::Release);
        }
    }

    /// Records the location at which the current task or thread has taken the object. One of the following
    /// methods records that it has.
    #[inline]
    pub fn taken_at(&self, caller: Caller) {
        if let Some(location) = caller.location() {
            let location = ptr::from_ref(location).cast_mut();
            self.block().taken_at.store(location, Ordering::Relaxed);
        }
    }

    /// Records the location at which the object was created.
    #[inline]
    pub fn created_at(&self, made_at: Caller) {
        if let Some(location) = made_at.location() {
            let location = ptr::from_ref(location).cast_mut();
            self.block().created_at.store(location, Ordering::Relaxed);
        }
    }

    /// Records that the current task or thread has the object exclusively.
    #[inline]
    pub fn acquired(&self) {
        let (block, waiter) = self.block_and_waiter();
        block.holder.store(waiter.word(), Ordering::Relaxed);
    }

    /// Like [`acquired`](Self::acquired), but with a guard that may move to another task.
    #[inline]
    pub fn acquired_movable(&self) {
        let (block, waiter) = self.block_and_waiter();
        let holder = waiter.word() | MOVABLE;
        block.holder.store(holder, Ordering::Relaxed);
    }

    /// Records that the acquirer has the object exclusively.
    #[inline]
    pub fn acquired_by(&self, by: Acquirer) {
        let guard = if by.is_known { 0 } else { MOVABLE };
        let holder = by.waiter.word() | guard;
        self.block().holder.store(holder, Ordering::Relaxed);
    }

    /// Like [`acquired_by`](Self::acquired_by), but with a guard that may move to another task.
    #[inline]
    pub fn acquired_movable_by(&self, by: Acquirer) {
        let holder = by.waiter.word() | MOVABLE;
        self.block().holder.store(holder, Ordering::Relaxed);
    }

    /// Records that the acquirer has the object beside others. A future of another runtime is only counted, as the thread
    /// that drops its guard is any of that runtime's.
    #[inline]
    pub fn acquired_shared_by(&self, by: Acquirer) {
        if by.may_be_foreign() {
            self.acquired_shared_movable();
        } else {
            self.acquired_shared();
        }
    }

    /// Records that the holder of `other` has this object exclusively, too.
    #[inline]
    pub fn acquired_by_holder_of(&self, other: &Self) {
        let holder = other.block().holder.load(Ordering::Relaxed);
        self.block().holder.store(holder, Ordering::Relaxed);
    }

    /// Records that the current task or thread has the object, and keeps only some of the waiters out.
    #[inline]
    pub fn acquired_beside_readers(&self) {
        let (block, waiter) = self.block_and_waiter();
        let holder = waiter.word() | MOVABLE | BESIDE_READERS;
        block.holder.store(holder, Ordering::Relaxed);
    }

    /// Records that the holder is about to release the object.
    #[inline]
    pub fn released(&self) {
        if recorders::is_any_on() {
            self.note_release();
        }
        self.block().holder.store(0, Ordering::Relaxed);
    }

    /// Records that the current task or thread has the object beside others.
    #[inline]
    pub fn acquired_shared(&self) {
        match self.own_place() {
            Some((own, word)) if own.load(Ordering::Relaxed) == 0 => {
                own.store(word, Ordering::Relaxed);
            }
            _ => self.acquired_shared_slowly(),
        }
    }

    #[cold]
    #[inline(never)]
    fn acquired_shared_slowly(&self) {
        let (block, waiter) = self.first_use();
        block.add(waiter, waiter.word());
    }

    /// Records that one of the holders that share the object is about to release it.
    #[inline]
    pub fn released_shared(&self) {
        if recorders::is_any_on() {
            self.note_release();
        }
        match self.own_place() {
            Some((own, word)) if own.load(Ordering::Relaxed) == word => {
                own.store(0, Ordering::Relaxed);
            }
            _ => self.released_shared_slowly(),
        }
    }

    #[cold]
    #[inline(never)]
    fn released_shared_slowly(&self) {
        let (block, waiter) = self.first_use();
        block.remove(waiter, waiter.word());
    }

    /// Records one more reader of the object, whose guard may move to another task.
    #[inline]
    pub fn acquired_shared_movable(&self) {
        self.block().unnamed.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that the current task has the object beside others. Outside of a task, only counts the thread:
    /// it may poll a task of another library.
    pub fn acquired_shared_by_task(&self) {
        if Waiter::current().is_task() {
            self.acquired_shared();
        } else {
            self.acquired_shared_movable();
        }
    }

    /// Records that the object, or a permit, notification or place of it, is about to be handed to the future
    /// that keeps this waker. The lock of the queue orders this before the future's next poll. The object has
    /// no exclusive holder: a recorded holder has acquired permits before, and may have returned
    /// them since.
    pub fn handed_over(&self, waker: &Waker) {
        let block = self.block();
        block.holder.store(0, Ordering::Relaxed);
        block.handed.store(waker.data().addr(), Ordering::Relaxed);
        if recorders::lints() {
            lint::handed_over(block, waker.data().addr());
        }
    }

    /// Records that a future to which the object may have been handed proceeds or is dropped. If another
    /// future has the object, too, reports no longer show that.
    pub fn hand_over_ended(&self) {
        let block = self.block();
        if block.handed.load(Ordering::Relaxed) != 0 {
            block.handed.store(0, Ordering::Relaxed);
        }
        if recorders::lints() {
            lint::hand_over_ended(block);
        }
    }

    /// Records that the acquirer has permits of this semaphore, in one guard. `may_move`: the guard borrows nothing, so it
    /// may move to another task.
    #[inline]
    pub fn permits_acquired(&self, by: Acquirer, may_move: bool) {
        self.acquired_movable_by(by);
        if by.may_be_foreign() {
            return self.acquired_shared_movable();
        }
        self.block().add(by.waiter, of_guard(by.waiter, may_move));
    }

    /// Records that the current task or thread is about to drop such a guard, or has forgotten it.
    #[inline]
    pub fn permits_released(&self, may_move: bool) {
        let (block, waiter) = self.block_and_waiter();
        block.remove(waiter, of_guard(waiter, may_move));
    }

    /// Records that the exclusive holder of the object, or else a reader, is about to release it.
    #[inline]
    pub fn released_by_any(&self) {
        if self.block().holder.load(Ordering::Relaxed) == 0 {
            self.released_shared();
        } else {
            self.released();
        }
    }

    /// Records that the exclusive holder shares the object from now on. If it is not the current task or thread, it is a
    /// future of another runtime, or has moved its guard, and is only counted.
    #[inline]
    pub fn downgraded(&self) {
        let holder = self.block().holder_word();
        self.released();
        if holder == Waiter::current().word() {
            self.acquired_shared();
        } else {
            self.acquired_shared_movable();
        }
    }

    /// Records that the object is a set of these tasks, and of `more` without a name. 0 is no task.
    pub fn set_members(&self, tasks: [u64; NAMES], more: usize) {
        let block = self.block();
        let more = more.try_into().unwrap_or(u32::MAX);
        block.unnamed.store(more, Ordering::Relaxed);
        for (place, id) in block.readers.iter().zip(tasks) {
            let word = if id == 0 { 0 } else { Waiter::task(id).word() };
            place.store(word, Ordering::Relaxed);
        }
    }

    /// Records that the current task or thread has sent.
    ///
    /// # Safety
    ///
    /// [`set_fill`](Self::set_fill) was called before.
    #[inline]
    pub unsafe fn used_by_sender(&self) {
        // SAFETY: by this function's contract, `set_fill` was called, which made the block.
        note_user(&unsafe { self.known_block() }.sender);
    }

    /// Records that the current task or thread has received.
    ///
    /// # Safety
    ///
    /// [`set_fill`](Self::set_fill) was called before.
    #[inline]
    pub unsafe fn used_by_receiver(&self) {
        // SAFETY: by this function's contract, `set_fill` was called, which made the block.
        note_user(&unsafe { self.known_block() }.receiver);
    }

    /// # Safety
    ///
    /// The object has a block.
    #[inline]
    unsafe fn known_block(&self) -> &'static Block {
        // SAFETY: by this function's contract, the object has a block. Blocks are never freed.
        unsafe { &*self.block.load(Ordering::Acquire) }
    }

    /// Gives the object a name for reports. The name is kept until the process ends.
    pub fn set_name(&self, name: &'static str) {
        let name = Box::into_raw(Box::new(name));
        self.block().name.store(name, Ordering::Release);
    }

    /// Returns `true` if it has a name.
    #[inline]
    pub(super) fn has_name(&self) -> bool {
        !self.block().name.load(Ordering::Relaxed).is_null()
    }

    /// Makes reports show how many tasks or threads meet at this barrier.
    pub fn set_parties(&self, parties: usize) {
        let parties = parties.try_into().unwrap_or(u32::MAX);
        self.block().parties.store(parties, Ordering::Relaxed);
    }

    /// Makes reports show how full the channel is from now on.
    ///
    /// # Safety
    ///
    /// The channel exists until [`clear_fill`](Self::clear_fill). The caller owns the fill of this object,
    /// which is not set.
    #[inline]
    pub unsafe fn set_fill<C: Filled>(&self, channel: *const C) {
        let probe = Probe {
            channel: channel.cast(),
            read: fill_of::<C>,
        };
        // SAFETY: the caller owns the slot, which is not set.
        unsafe { self.block().fill.set(probe) };
    }

    /// Undoes [`set_fill`](Self::set_fill), if it was called.
    ///
    /// # Safety
    ///
    /// The caller owns the fill of this object.
    #[inline]
    pub unsafe fn clear_fill(&self) {
        let fill = &self.block().fill;
        if fill.is_set() {
            if recorders::lints() {
                lint::channel_ends(self.block());
            }
            // SAFETY: the caller owns the slot, which is set.
            unsafe { fill.clear(&READER) };
        }
    }
}

/// Returns the word among the readers of the holder of a semaphore's permits.
#[inline]
fn of_guard(waiter: Waiter, may_move: bool) -> u64 {
    waiter.word() | if may_move { MOVABLE } else { 0 }
}

/// Writes only a change: the ends of a channel are often in two threads, and share the cache line.
#[inline]
fn note_user(place: &AtomicU64) {
    // The word of a thread that has never asked for its own is not stored, and so differs.
    if place.load(Ordering::Relaxed) != current::word() {
        note_new_user(place);
    }
}

#[inline(never)]
fn note_new_user(place: &AtomicU64) {
    place.store(Waiter::current().word(), Ordering::Relaxed);
}

impl Default for Object {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        let block = *self.block.get_mut();
        // SAFETY: null, or that of a block. Blocks are never freed.
        if let Some(block) = unsafe { block.as_ref() } {
            if recorders::traces() {
                trace::retire(block);
            }
            block.put_back();
        }
    }
}

/// # Safety
///
/// The pointer is to a `C` that exists.
unsafe fn fill_of<C: Filled>(channel: *const ()) -> Fill {
    // SAFETY: by this function's contract, the pointer is to a `C` that exists. Any thread may call `fill`.
    unsafe { &*channel.cast::<C>() }.fill()
}
