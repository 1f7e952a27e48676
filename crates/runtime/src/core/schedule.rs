//! What the task core and a scheduler have between them: the token to run a task once, and
//! what a task asks of its scheduler.

use std::mem;
use std::ptr::NonNull;

use super::header::Header;
use super::id::Id;

/// The right and the duty to run a task once. There is at most one for a task. It needs
/// no reference, since a task does not end before its token has been run. It is handed to
/// another thread with release and acquire, as every queue does.
#[must_use = "a task whose token is lost stays forever"]
pub struct Notified(NonNull<Header>);

/// What came of a token that was run.
#[must_use]
pub enum Ran {
    /// The task has ended.
    Done,
    /// The task waits for a wake-up.
    Idle,
    /// The task was woken while it was polled.
    Again(Notified),
    /// The task asks for a place at the end of the queue.
    Yielded(Notified),
}

// SAFETY: the token may be run on another thread, since the future of a task may be
// polled on any thread if it has a scheduler that moves it.
unsafe impl Send for Notified {}

impl Notified {
    /// Polls the task's future once, or drops it if the task was cancelled.
    #[inline]
    pub fn run(self) -> Ran {
        let task = self.into_raw();
        // SAFETY: a task with a token is not complete, and so has its own reference.
        unsafe { (task.as_ref().vtable.run)(task) }
    }

    /// Drops the task's future instead of polling it.
    #[allow(dead_code, reason = "for the queue of blocking tasks")]
    pub fn cancel(self) {
        // There is a token: this one.
        let gives_another = self.header().state.cancel();
        debug_assert!(!gives_another);
        let ran = self.run();
        debug_assert!(matches!(ran, Ran::Done));
    }

    /// The token as a pointer.
    #[inline]
    pub fn into_raw(self) -> NonNull<Header> {
        let task = self.0;
        mem::forget(self);
        task
    }

    /// The token that was made a pointer.
    ///
    /// # Safety
    ///
    /// The pointer comes from [`into_raw`](Self::into_raw), and this is done once.
    #[inline]
    pub unsafe fn from_raw(task: NonNull<Header>) -> Self {
        Self(task)
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: a task with a token is not complete, and so has its own reference.
        unsafe { self.0.as_ref() }
    }

    /// The task's number.
    #[allow(dead_code, reason = "for hooks")]
    pub fn id(&self) -> Id {
        self.header().id()
    }
}

impl Drop for Notified {
    fn drop(&mut self) {
        debug_assert!(std::thread::panicking(), "a token was lost");
    }
}

/// What a task needs of its scheduler. Each task has a copy.
pub trait Schedule: Clone + Send + Sync + 'static {
    /// A task is to be run. Called on any thread, by a wake-up or an abort.
    fn schedule(&self, task: Notified);

    /// A task has ended: takes it out of the list it was bound to. The task is still
    /// alive, and its join handle has not heard of it.
    fn release(&self, task: &Header);

    /// Whether what this refers to certainly is there until the current function of this
    /// thread has returned, whatever becomes of the task: say, because the thread is
    /// a worker of it. Waking by value then needs one step less.
    fn outlives_call(&self) -> bool {
        false
    }

    /// A task's future panicked.
    fn unhandled_panic(&self) {}

    /// A task has ended: for hooks.
    fn terminated(&self, id: Id) {
        let _ = id;
    }
}
