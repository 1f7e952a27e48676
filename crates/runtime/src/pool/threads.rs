//! The handles of the pool's threads, so that the runtime's end can wait until they
//! have really gone, with their thread-locals.
//!
//! A thread whose keep-alive ends takes its own handle and leaves it for the next one
//! that goes, which waits for it: so there is at most one such handle, and the thread that shuts
//! the pool down waits for the last one.

use std::thread::JoinHandle;

use blitz_sync::thread::Mutex;

#[derive(Default)]
pub(super) struct Threads(Mutex<Handles>);

#[derive(Default)]
pub(super) struct Handles {
    threads: Vec<(u64, JoinHandle<()>)>,
    /// The one that went last before the pool was closed.
    went: Option<JoinHandle<()>>,
    next: u64,
    closed: bool,
}

impl Threads {
    /// Starts a thread: `start` gets its number here.
    pub(super) fn start<E>(
        &self,
        start: impl FnOnce(u64) -> Result<JoinHandle<()>, E>,
    ) -> Result<(), E> {
        // Under the lock, so that the thread finds itself listed when it goes.
        let mut handles = self.0.lock();
        let number = handles.next;
        let thread = start(number)?;
        handles.next += 1;
        handles.threads.push((number, thread));
        Ok(())
    }

    /// A thread goes. Returns the one that went before, to be waited for.
    pub(super) fn go(&self, number: u64) -> Option<JoinHandle<()>> {
        let mut handles = self.0.lock();
        if handles.closed {
            return None;
        }
        let index = handles
            .threads
            .iter()
            .position(|thread| thread.0 == number)?;
        let (_, own) = handles.threads.swap_remove(index);
        handles.went.replace(own)
    }

    /// From now on, threads that go leave their handles here.
    pub(super) fn close(&self) {
        self.0.lock().closed = true;
    }

    /// A thread that is still to be waited for.
    pub(super) fn pop(&self) -> Option<JoinHandle<()>> {
        let mut handles = self.0.lock();
        let thread = handles.threads.pop().map(|(_, thread)| thread);
        thread.or_else(|| handles.went.take())
    }
}
