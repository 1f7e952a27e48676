//! One value from one end to the other: the cell that both share.
//!
//! # States
//!
//! A word of bits, a place for the value, and a place for
//! a waker of each end. Two events end the wait of the other end:
//!
//! * the sender *completes*, with a value or without: `COMPLETE`, and `VALUE`;
//! * the receiver *closes*: `CLOSED`.
//!
//! Each happens at most once, and only if the other has not happened before: both
//! are compare-and-swaps that fail when they meet the other's bit. So both ends
//! agree on which was first. A value that came too late never leaves the sender.
//!
//! ```text
//!              complete                        the receiver takes the value
//!   NEW ------------------> COMPLETE [VALUE] ------------------------------> both gone
//!    |                                                                           ^
//!    |  close                            the sender takes its value back         |
//!    +--------> CLOSED ----------------------------------------------------------+
//! ```
//!
//! # Waiting
//!
//! An end that waits as a task puts its waker into its place and *then* sets its bit, `RX_TASK`
//! or `TX_TASK`. It does so with a compare-and-swap that fails if the awaited event has happened.
//! The event clears the bits in the same step in which it happens. The end that clears a bit owns
//! the waker. That may be the other end, which takes it out and wakes it. Or it is the end
//! itself, which comes back with another waker, takes the old one out, and begins again. An end
//! that closes or completes clears its own bit as well, and drops its waker.
//!
//! An end that waits as a thread sets `RX_THREAD` or `TX_THREAD` in the same manner and sleeps on
//! the word itself while it keeps that value.
//!
//! **No wake-up is lost.** Bit and event are in one word. If the bit comes first,
//! the event sees it; if the event comes first, the compare-and-swap fails and
//! shows it. There is no second word to look at. A thread that is about to sleep
//! when the event happens finds that the word has changed.
//!
//! No waker is cloned, called or dropped while another end could be waiting for
//! it: they are out of the cell by then, and mostly, the cell has been left.
//!
//! # Freeing the cell
//!
//! There are no reference counts. Each end announces in the word that it has left, `TX_GONE` or
//! `RX_GONE`. The end that finds that the other has left before frees the cell, without another
//! step. An event that finds no waker to take announces this in the same step. So sending is one
//! read-modify-write. Receiving a value that was sent, and freeing the cell, is none: a load
//! shows `TX_GONE`.
//!
//! Where there are wakers to take, the end that takes them is still inside, and
//! leaves in a second step. The other end need not wait for that: it takes the
//! value and leaves as well, and the later of the two frees.
//!
//! A sleeping thread is woken by the address of the word, which the system
//! never reads; so that may be done after leaving.
//!
//! # Source
//!
//! The idea to let one state word guard value and wakers is that of Tokio's
//! `oneshot`; the rule that the bits decide which end frees, that of the `oneshot` crate.

use std::mem::MaybeUninit;
use std::task::Waker;
use std::time::Instant;

use blitz_io_core::{Spin, Watched, deadline};
use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_futex::{WaitResult, wait_deadline, wake_one};
use blitz_io_observe::{self as observe, Origin, Wait};

use crate::model::model_has_failed;

/// The state in which no event has happened.
pub const NEW: u32 = 0;
/// The sender has sent, or never will.
pub const COMPLETE: u32 = 1;
/// It has sent: the value is in its place. Only with `COMPLETE`.
pub const VALUE: u32 = 1 << 1;
/// The receiver takes no value any more. Never set after `COMPLETE`, and keeps
/// `COMPLETE` from being set.
pub const CLOSED: u32 = 1 << 2;
/// A waker of the receiver is in its place, and belongs to the end that clears this.
pub const RX_TASK: u32 = 1 << 3;
/// A waker of the sender is in its place, and belongs to the end that clears this.
pub const TX_TASK: u32 = 1 << 4;
/// A thread sleeps on the state, to receive.
pub const RX_THREAD: u32 = 1 << 5;
/// A thread sleeps on the state, until the receiver closes.
pub const TX_THREAD: u32 = 1 << 6;
/// The receiver will not look at the cell again.
pub const RX_GONE: u32 = 1 << 7;
/// The sender will not look at the cell again.
pub const TX_GONE: u32 = 1 << 8;

pub const TASKS: u32 = RX_TASK | TX_TASK;
pub const THREADS: u32 = RX_THREAD | TX_THREAD;

/// One end of the channel, as the other sees it.
pub struct Side {
    /// Its waker is stored.
    pub task: u32,
    /// Its thread sleeps.
    pub thread: u32,
    /// It has left.
    pub gone: u32,
    /// The events that end its wait.
    pub until: u32,
}

pub const RECEIVER: Side = Side {
    task: RX_TASK,
    thread: RX_THREAD,
    gone: RX_GONE,
    until: COMPLETE | CLOSED,
};

pub const SENDER: Side = Side {
    task: TX_TASK,
    thread: TX_THREAD,
    gone: TX_GONE,
    until: CLOSED,
};

/// The memory that both ends share. The module documentation has the protocol.
pub struct Cell<T> {
    state: AtomicU32,
    pub value: Place<T>,
    /// A waker of the receiver.
    rx_task: Place<Waker>,
    /// A waker of the sender.
    tx_task: Place<Waker>,
    /// The record of the receiver, which alone uses it.
    pub record: Place<Wait>,
    /// The task or thread that made the channel. Written before there are two ends.
    pub origin: Place<Origin>,
}

// SAFETY: the value goes from one thread to another, and the state says which of
// the ends may use a place. Neither ever gives out a reference to the value.
unsafe impl<T: Send> Send for Cell<T> {}
// SAFETY: of a shared cell, too, only the end that the state names uses a place.
unsafe impl<T: Send> Sync for Cell<T> {}

impl<T> Cell<T> {
    blitz_io_core::const_unless_loom! {
        /// Creates a cell in which no event has happened.
        pub const fn new() -> Self {
            Self {
                state: AtomicU32::new(NEW),
                value: Place::empty(),
                rx_task: Place::empty(),
                tx_task: Place::empty(),
                record: Place::empty(),
                origin: Place::empty(),
            }
        }
    }

    /// Initialises a cell in place. All fields but the state may be uninitialised.
    ///
    /// # Safety
    ///
    /// The memory belongs to the caller, and is large enough and aligned.
    #[cfg(not(loom))]
    #[inline]
    pub unsafe fn begin(core: std::ptr::NonNull<Self>) {
        // SAFETY: by this function's contract, the memory belongs to the caller. The places need
        // not be initialised.
        unsafe { (&raw mut (*core.as_ptr()).state).write(AtomicU32::new(NEW)) };
    }

    /// Returns the state. Acquires the work of the end that changed it last.
    #[inline]
    pub fn state(&self) -> u32 {
        self.state.load(Ordering::Acquire)
    }

    /// Sends the value that is in the sender's place, and leaves, if the state is still `NEW`.
    /// `Err` has the state otherwise.
    #[inline]
    pub fn send_and_leave(&self) -> Result<(), u32> {
        let sent = COMPLETE | VALUE | TX_GONE;
        // A load costs little; a failed compare-exchange costs as much as one that succeeds.
        let seen = self.state();
        if seen != NEW {
            return Err(seen);
        }
        self.state
            .compare_exchange(NEW, sent, Ordering::Release, Ordering::Acquire)
            .map(drop)
    }

    /// Changes the state from `seen` to `next`. `Err` has the state, if that is another one.
    #[inline]
    pub fn advance(&self, seen: u32, next: u32) -> Result<(), u32> {
        self.state
            .compare_exchange(seen, next, Ordering::AcqRel, Ordering::Acquire)
            .map(drop)
    }

    /// Takes the waker of an end, if its bit was set.
    ///
    /// # Safety
    ///
    /// The caller has cleared the bit.
    pub unsafe fn take_task(&self, side: &Side, seen: u32) -> Option<Waker> {
        // SAFETY: the bit was set, so the waker is stored, and it belongs to the end that cleared
        // the bit.
        (seen & side.task != 0).then(|| unsafe { self.task(side).take() })
    }

    fn task(&self, side: &Side) -> &Place<Waker> {
        match side.task {
            RX_TASK => &self.rx_task,
            _ => &self.tx_task,
        }
    }

    /// Lets the end's event wake this waker. `Err` if the event has happened.
    pub fn register(&self, side: &Side, waker: &Waker) -> Result<(), u32> {
        let mut state = self.state();
        if state & side.until != 0 {
            return Err(state);
        }
        let place = self.task(side);
        let mut old = None;
        if state & side.task != 0 {
            // SAFETY: only this end stores its waker, and it has. The other end may take it at
            // the same time, to wake it. Then it is the same task's, and the comparison is one of
            // addresses.
            let same = unsafe { place.look(|old| old.will_wake(waker)) };
            if same {
                return Ok(());
            }
        }
        // It may panic, so it comes before all changes.
        let new = waker.clone();
        if state & side.task != 0 {
            state = self.set(side, state, |state| state & !side.task)?;
            // SAFETY: this end has cleared the bit, which was set, so it owns the waker.
            old = Some(unsafe { place.take() });
        }
        // SAFETY: without the bit, the place belongs to this end.
        unsafe { place.put(new) };
        let left = self.set(side, state, |state| state | side.task);
        if left.is_err() {
            // SAFETY: the bit was never set, so the place still belongs to this end.
            old = Some(unsafe { place.take() });
        }
        // In a cell that this end has yet to leave, with all in order.
        drop(old);
        left.map(drop)
    }

    /// Changes the state, unless the end's event has happened.
    fn set(&self, side: &Side, mut state: u32, change: impl Fn(u32) -> u32) -> Result<u32, u32> {
        loop {
            if state & side.until != 0 {
                return Err(state);
            }
            match self.advance(state, change(state)) {
                Ok(()) => return Ok(change(state)),
                Err(now) => state = now,
            }
        }
    }

    /// Blocks the thread until the end's event has happened. `None` when the deadline comes
    /// first.
    pub fn wait(&self, side: &Side, deadline: Option<Instant>) -> Option<u32> {
        let state = self.state();
        if state & side.until != 0 {
            return Some(state);
        }
        if deadline::is_past(deadline) {
            return None;
        }
        let mut spin = Spin::EVENT;
        while spin.turn() {
            let state = self.state();
            if state & side.until != 0 {
                return Some(state);
            }
        }
        self.sleep(side, deadline)
    }

    #[cold]
    fn sleep(&self, side: &Side, deadline: Option<Instant>) -> Option<u32> {
        loop {
            let seen = self.state();
            let announce = |state: u32| (state | side.thread) & !side.task;
            let state = match self.set(side, seen, announce) {
                Ok(state) => state,
                Err(done) => return Some(done),
            };
            // A waker of an earlier poll is not used any more.
            // SAFETY: only this end sets or, before the event, clears its bit: it was still
            // set when it was cleared.
            drop(unsafe { self.take_task(side, seen) });
            let result = {
                let _record = observe::sleeping(&self.state);
                wait_deadline(&self.state, state, deadline)
            };
            if result == WaitResult::TimedOut {
                let seen = self.state();
                return self.set(side, seen, |state| state & !side.thread).err();
            }
        }
    }

    /// Drops all that is left, for a new start.
    pub fn clear(&mut self) {
        let state = self.state.load(Ordering::Relaxed);
        self.state.store(NEW, Ordering::Relaxed);
        // SAFETY: no other end uses the cell, and the bits tell which places are initialised: an
        // end that was forgotten is at rest, and at rest the bits are true.
        let (_receiver, _sender, _value) = unsafe {
            let value = (state & VALUE != 0).then(|| self.value.take());
            let receiver = self.take_task(&RECEIVER, state);
            (receiver, self.take_task(&SENDER, state), value)
        };
    }
}

impl<T> Drop for Cell<T> {
    /// Drops the contents of a cell that is itself dropped. A cell on the heap has no
    /// contents left when it is released.
    fn drop(&mut self) {
        if !model_has_failed() {
            self.clear();
        }
    }
}

/// One end's way to the cell.
///
/// # Safety
///
/// The cell is alive, and shared with no more than one other end, until both ends have left it.
pub unsafe trait Storage: Unpin {
    /// The type of the value.
    type Value;

    /// Returns the cell. Must not be called after this end has left it.
    fn cell(&self) -> &Cell<Self::Value>;

    /// Releases the cell, which both ends have left.
    ///
    /// # Safety
    ///
    /// Both ends have left the cell, this is the only call, and nothing is left in the cell.
    unsafe fn release(&self);
}

// SAFETY: the cell is borrowed.
unsafe impl<T> Storage for &Cell<T> {
    type Value = T;

    #[inline]
    fn cell(&self) -> &Cell<T> {
        self
    }

    #[inline]
    unsafe fn release(&self) {
        // The owner of the memory will find nothing to drop.
        self.state.store(NEW, Ordering::Relaxed);
    }
}

/// Makes an event happen, and wakes the other end if it waits for that. If the end `leaves`, it
/// has left before it wakes. `Err` has the state if the other end's event came first.
///
/// # Safety
///
/// If the event happens and the end leaves, this is the last that it does with the cell.
pub unsafe fn happen<S: Storage>(
    storage: &S,
    mut seen: u32,
    event: u32,
    [mine, other]: [&Side; 2],
    leaves: bool,
) -> Result<(), u32> {
    let word = &raw const storage.cell().state;
    let is_gone = loop {
        if seen & (COMPLETE | CLOSED) != 0 {
            return Err(seen);
        }
        let is_gone = leaves && seen & TASKS == 0;
        let gone = if is_gone { mine.gone } else { 0 };
        let next = seen & !(TASKS | THREADS) | event | gone;
        match storage.cell().advance(seen, next) {
            Ok(()) => break is_gone,
            Err(now) => seen = now,
        }
    };
    let (mut _own, mut task) = (None, None);
    if seen & TASKS != 0 {
        // SAFETY: this end has cleared the bits, and has yet to leave.
        (_own, task) = unsafe {
            let core = storage.cell();
            (core.take_task(mine, seen), core.take_task(other, seen))
        };
    }
    if leaves && !is_gone {
        // SAFETY: by this function's contract, the end does not use the cell after this.
        unsafe { leave(storage, [mine, other]) };
    }
    if seen & other.thread != 0 {
        wake_one(word);
    }
    if let Some(task) = task {
        task.wake();
    }
    Ok(())
}

/// Says that an end has left, and frees the cell if the other had left before.
///
/// # Safety
///
/// This is the last that the end does with the cell.
unsafe fn leave<S: Storage>(storage: &S, [mine, other]: [&Side; 2]) {
    let before = storage.cell().state.fetch_add(mine.gone, Ordering::AcqRel);
    if before & other.gone != 0 {
        // SAFETY: both have left, and of two additions, one comes second.
        unsafe { storage.release() };
    }
}

/// Leaves a cell whose state was `seen` a moment ago.
///
/// # Safety
///
/// As [`leave`].
#[inline]
pub unsafe fn leave_after<S: Storage>(storage: &S, seen: u32, [mine, other]: [&Side; 2]) {
    if seen & other.gone != 0 {
        // SAFETY: the other end has left, and this end leaves now.
        unsafe { storage.release() };
    } else {
        // SAFETY: by this function's contract, the end does not use the cell after this.
        unsafe { leave(storage, [mine, other]) };
    }
}

/// The sender acts; the receiver is the other end.
pub const FROM_SENDER: [&Side; 2] = [&SENDER, &RECEIVER];
/// The receiver acts.
pub const FROM_RECEIVER: [&Side; 2] = [&RECEIVER, &SENDER];

/// Memory for a value that is initialised at times. The channel's state says which end may use
/// it, and whether it is initialised.
pub struct Place<T>(Watched<MaybeUninit<T>>);

impl<T> Place<T> {
    blitz_io_core::const_unless_loom! {
        /// Creates uninitialised memory.
        pub const fn empty() -> Self {
            Self(Watched::new(MaybeUninit::uninit()))
        }
    }

    /// Stores a value.
    ///
    /// # Safety
    ///
    /// The caller alone uses the place. A value in it is forgotten, not dropped.
    #[inline]
    pub unsafe fn put(&self, value: T) {
        self.0.with_mut(|place| {
            // SAFETY: only the caller uses the place.
            unsafe { (*place).write(value) };
        });
    }

    /// Passes the value to `change`.
    ///
    /// # Safety
    ///
    /// The place is initialised, and the caller alone uses it.
    #[inline]
    pub unsafe fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        self.0
            // SAFETY: by this function's contract, it is initialised, and only the caller uses it.
            .with_mut(|place| change(unsafe { (*place).assume_init_mut() }))
    }

    /// Moves the value out.
    ///
    /// # Safety
    ///
    /// The place is initialised, and no other thread uses it.
    #[inline]
    pub unsafe fn take(&self) -> T {
        // SAFETY: by this function's contract, it is initialised and read once.
        self.0.with(|place| unsafe { (*place).assume_init_read() })
    }

    /// Passes the value to `look`.
    ///
    /// # Safety
    ///
    /// The place has been initialised, and no other thread stores another value during the call.
    /// If another may take the value during the call, `look` must only look at the bytes.
    #[inline]
    pub unsafe fn look<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        self.0
            // SAFETY: by this function's contract, the place has been initialised.
            .with(|place| look(unsafe { (*place).assume_init_ref() }))
    }
}
