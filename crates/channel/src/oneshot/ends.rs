//! The two ends of a cell, wherever it lives. The protocol is in `core.rs`.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr;
use std::task::{Poll, Waker};
use std::time::Instant;

use blitz_futex::atomic::Ordering;
use blitz_futex::wake_one;

use super::core::{CLOSED, COMPLETE, RECEIVER, SENDER, Side, State, TASKS, THREADS, Tasks, VALUE};
use super::error::{RecvError, TryRecvError};
use super::home::Home;
use super::mutant::{Mutant, active, model_has_failed};

/// Makes an event happen, and takes the wakers out. If the end `leaves`, it has
/// left by then. If the other's event came first: the state.
///
/// # Safety
///
/// If the event happens and the end leaves, this is the last that it does with
/// the cell.
unsafe fn happen<H: Home>(
    home: &H,
    mut seen: u32,
    event: u32,
    [mine, other]: [&Side; 2],
    leaves: bool,
) -> Result<Tasks, u32> {
    let word = &raw const home.core().state;
    let is_gone = loop {
        if seen & (COMPLETE | CLOSED) != 0 {
            return Err(seen);
        }
        let is_gone = leaves && (seen & TASKS == 0 || active(Mutant::GoneTooEarly));
        let gone = if is_gone { mine.gone } else { 0 };
        let next = seen & !(TASKS | THREADS) | event | gone;
        match home.core().advance(seen, next) {
            Ok(()) => break is_gone,
            Err(now) => seen = now,
        }
    };
    let mut tasks = Tasks::default();
    if seen & TASKS != 0 {
        // SAFETY: we have cleared the bits, and have yet to leave.
        tasks = unsafe { home.core().take_tasks(seen & TASKS) };
    }
    if leaves && !is_gone {
        // SAFETY: the caller says so.
        unsafe { leave(home, [mine, other]) };
    }
    if seen & other.thread != 0 {
        wake_one(word);
    }
    Ok(tasks)
}

/// Says that an end has left, and frees the cell if the other had left before.
///
/// # Safety
///
/// This is the last that the end does with the cell.
unsafe fn leave<H: Home>(home: &H, [mine, other]: [&Side; 2]) {
    let before = home.core().state.fetch_add(mine.gone, Ordering::AcqRel);
    if before & other.gone != 0 && !active(Mutant::LeavesBlindly) {
        // SAFETY: both have left, and of two additions, one comes second.
        unsafe { home.release() };
    }
}

/// Leaves a cell whose state was `seen` a moment ago.
///
/// # Safety
///
/// As [`leave`].
#[inline]
unsafe fn leave_after<H: Home>(home: &H, seen: u32, [mine, other]: [&Side; 2]) {
    if seen & other.gone != 0 {
        // SAFETY: the other has left, and now we do.
        unsafe { home.release() };
    } else {
        // SAFETY: the caller says so.
        unsafe { leave(home, [mine, other]) };
    }
}

const FROM_SENDER: [&Side; 2] = [&SENDER, &RECEIVER];
const FROM_RECEIVER: [&Side; 2] = [&RECEIVER, &SENDER];

/// The end that sends.
pub struct RawSender<H: Home>(H);

impl<H: Home> RawSender<H> {
    #[inline]
    pub fn new(home: H) -> Self {
        Self(home)
    }

    #[inline]
    pub fn send(self, value: H::Value) -> Result<(), H::Value> {
        let this = ManuallyDrop::new(self);
        // SAFETY: it is read once, and `this` is not dropped.
        let home = unsafe { ptr::read(&this.0) };
        // SAFETY: until the sender completes, the place of the value is its own.
        unsafe { home.core().value.put(value) };
        match home.core().send_and_leave() {
            Ok(()) => Ok(()),
            Err(seen) => Self::send_slow(&home, seen),
        }
    }

    #[inline(never)]
    fn send_slow(home: &H, seen: u32) -> Result<(), H::Value> {
        // SAFETY: the caller gives the cell up.
        match unsafe { happen(home, seen, COMPLETE | VALUE, FROM_SENDER, true) } {
            Ok(tasks) => {
                wake(tasks.receiver);
                Ok(())
            }
            Err(closed) => {
                // SAFETY: the receiver was first, so the value is still ours, and
                // the cell is left after that.
                unsafe {
                    let value = home.core().value.take();
                    leave_after(home, closed, FROM_SENDER);
                    Err(value)
                }
            }
        }
    }

    pub fn is_closed(&self) -> bool {
        self.0.core().state() & CLOSED != 0
    }

    pub fn poll_closed(&mut self, waker: &Waker) -> Poll<()> {
        match self.0.core().register(&SENDER, waker) {
            Ok(()) => Poll::Pending,
            Err(_) => Poll::Ready(()),
        }
    }

    pub fn wait_closed(&mut self, deadline: Option<Instant>) -> bool {
        self.0.core().wait(&SENDER, deadline).is_some()
    }
}

impl<H: Home> Drop for RawSender<H> {
    fn drop(&mut self) {
        if model_has_failed() {
            return;
        }
        let seen = self.0.core().state();
        // SAFETY: nobody uses this end after its drop.
        match unsafe { happen(&self.0, seen, COMPLETE, FROM_SENDER, true) } {
            Ok(tasks) => wake(tasks.receiver),
            // SAFETY: as above.
            Err(closed) => unsafe { leave_after(&self.0, closed, FROM_SENDER) },
        }
    }
}

/// The end that receives. `None`: it has what it can get.
pub struct RawReceiver<H: Home>(Option<H>);

impl<H: Home> RawReceiver<H> {
    #[inline]
    pub fn new(home: H) -> Self {
        Self(Some(home))
    }

    pub fn close(&mut self) {
        if let Some(home) = &self.0 {
            let seen = home.core().state();
            // SAFETY: it does not leave.
            let closed = unsafe { happen(home, seen, CLOSED, FROM_RECEIVER, false) };
            wake_sender(closed);
        }
    }

    pub fn is_terminated(&self) -> bool {
        self.0.is_none()
    }

    pub fn is_empty(&self) -> bool {
        let has_value = |home: &H| home.core().state() & VALUE != 0;
        !self.0.as_ref().is_some_and(has_value)
    }

    #[inline]
    pub fn try_recv(&mut self) -> Result<H::Value, TryRecvError> {
        let Some(home) = &self.0 else {
            return Err(TryRecvError::Closed);
        };
        let seen = home.core().state();
        if seen & RECEIVER.until == 0 {
            return Err(TryRecvError::Empty);
        }
        self.finish(seen).ok_or(TryRecvError::Closed)
    }

    #[inline]
    pub fn poll(&mut self, waker: &Waker) -> Poll<Result<H::Value, RecvError>> {
        let Some(home) = &self.0 else {
            panic!("called after complete");
        };
        let mut seen = home.core().state();
        if seen & RECEIVER.until == 0 {
            match home.core().register(&RECEIVER, waker) {
                Ok(()) => return Poll::Pending,
                Err(done) => seen = done,
            }
        }
        Poll::Ready(self.finish(seen).ok_or(RecvError(())))
    }

    /// `Empty` when the deadline has come.
    pub fn wait(&mut self, deadline: Option<Instant>) -> Result<H::Value, TryRecvError> {
        let Some(home) = &self.0 else {
            return Err(TryRecvError::Closed);
        };
        match home.core().wait(&RECEIVER, deadline) {
            Some(seen) => self.finish(seen).ok_or(TryRecvError::Closed),
            None => Err(TryRecvError::Empty),
        }
    }

    /// Takes the value, if there is one, and leaves. Either end has had its event.
    #[inline]
    fn finish(&mut self, seen: u32) -> Option<H::Value> {
        let home = self.0.take()?;
        // SAFETY: with `VALUE` the sender has put it there and left it to us; nobody
        // has taken it, since we leave whenever we take it.
        let value = (seen & VALUE != 0).then(|| unsafe { home.core().value.take() });
        // SAFETY: this end has given up its way to the cell.
        unsafe { leave_after(&home, seen, FROM_RECEIVER) };
        value
    }
}

impl<H: Home> Drop for RawReceiver<H> {
    #[inline]
    fn drop(&mut self) {
        if self.0.is_some() && !model_has_failed() {
            self.drop_slow();
        }
    }
}

impl<H: Home> RawReceiver<H> {
    #[inline(never)]
    fn drop_slow(&mut self) {
        let Some(home) = &self.0 else { return };
        let seen = home.core().state();
        // SAFETY: if it happens, this end gives up its way to the cell.
        match unsafe { happen(home, seen, CLOSED, FROM_RECEIVER, true) } {
            Ok(tasks) => {
                self.0 = None;
                wake_sender(Ok(tasks));
            }
            Err(seen) => drop(self.finish(seen)),
        }
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

fn wake_sender(closed: Result<Tasks, u32>) {
    if let Ok(tasks) = closed {
        if !active(Mutant::SilentClose) {
            wake(tasks.sender);
        }
    }
}

/// What is shown of a cell.
struct Inner(State);

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").field("state", &self.0).finish()
    }
}

/// Shows an end under this name.
fn show(f: &mut fmt::Formatter<'_>, name: &str, home: Option<&impl Home>) -> fmt::Result {
    let inner = home.map(|home| Inner(State(home.core().state())));
    f.debug_struct(name).field("inner", &inner).finish()
}

impl<H: Home> RawSender<H> {
    pub fn show(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        show(f, name, Some(&self.0))
    }
}

impl<H: Home> RawReceiver<H> {
    pub fn show(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        show(f, name, self.0.as_ref())
    }
}
