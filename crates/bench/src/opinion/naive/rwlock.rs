//! A futex reader-writer lock in one word, with a waiter count. Readers and writers
//! sleep on the same word, so a release that may admit any waiter has to wake all of
//! them.

use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_futex::{wait, wake_all};

/// The word while a writer is inside; otherwise it is the number of readers.
const WRITER: u32 = u32::MAX;

pub struct RwLock {
    state: AtomicU32,
    waiters: AtomicU32,
}

impl RwLock {
    pub fn new() -> Self {
        Self {
            state: AtomicU32::new(0),
            waiters: AtomicU32::new(0),
        }
    }

    pub fn read(&self) {
        self.enter(|state| (state != WRITER).then_some(state.wrapping_add(1)));
    }

    pub fn write(&self) {
        self.enter(|state| (state == 0).then_some(WRITER));
    }

    pub fn end_read(&self) {
        if self.state.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.wake();
        }
    }

    pub fn end_write(&self) {
        self.state.store(0, Ordering::SeqCst);
        self.wake();
    }

    fn enter(&self, next: impl Fn(u32) -> Option<u32>) {
        while !super::spin(|| self.try_enter(&next)) {
            self.waiters.fetch_add(1, Ordering::SeqCst);
            let state = self.state.load(Ordering::SeqCst);
            if next(state).is_none() {
                wait(&self.state, state);
            }
            self.waiters.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn try_enter(&self, next: impl Fn(u32) -> Option<u32>) -> bool {
        let state = self.state.load(Ordering::Relaxed);
        next(state).is_some_and(|next| {
            self.state
                .compare_exchange(state, next, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok()
        })
    }

    fn wake(&self) {
        if self.waiters.load(Ordering::SeqCst) != 0 {
            wake_all(&self.state);
        }
    }
}
