//! The handles of the pool's threads, so that the runtime's end can wait until they have
//! ended, including their thread-locals.
//!
//! A thread whose keep-alive ends takes its own handle and leaves it for the next such
//! thread, which joins it. So there is at most one such handle, and the thread that shuts
//! the pool down joins the last one.

use std::collections::BTreeMap;
use std::thread::JoinHandle;

use blitz_io_sync::thread::Mutex;

#[derive(Default)]
pub(super) struct Threads(Mutex<Handles>);

#[derive(Default)]
pub(super) struct Handles {
    threads: BTreeMap<u64, JoinHandle<()>>,
    /// The thread that ended last before the pool was closed.
    went: Option<JoinHandle<()>>,
    next: u64,
    closed: bool,
}

impl Threads {
    /// Starts a thread. `start` gets its number in the list.
    pub(super) fn start<E>(
        &self,
        start: impl FnOnce(u64) -> Result<JoinHandle<()>, E>,
    ) -> Result<(), E> {
        // Under the lock, so that the thread finds itself listed when it ends.
        let mut handles = self.0.lock();
        let number = handles.next;
        let thread = start(number)?;
        handles.next += 1;
        handles.threads.insert(number, thread);
        Ok(())
    }

    /// Records that a thread is about to end. Returns the handle of the thread that ended
    /// before, to be joined.
    pub(super) fn go(&self, number: u64) -> Option<JoinHandle<()>> {
        let mut handles = self.0.lock();
        if handles.closed {
            return None;
        }
        let own = handles.threads.remove(&number)?;
        handles.went.replace(own)
    }

    /// Makes threads that end from now on leave their handles here.
    pub(super) fn close(&self) {
        self.0.lock().closed = true;
    }

    /// Takes the handle of a thread that is still to be joined.
    pub(super) fn pop(&self) -> Option<JoinHandle<()>> {
        let mut handles = self.0.lock();
        let thread = handles.threads.pop_first().map(|(_, thread)| thread);
        thread.or_else(|| handles.went.take())
    }
}
