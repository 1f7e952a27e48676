//! A descriptor for two events: another descriptor is readable, or a timer has expired. On
//! macOS and FreeBSD it is a queue of kernel events, which is readable while an event is in
//! it; another queue can wait for that, too.
//!
//! An event stays in the queue until a call takes it out, even if the other descriptor has
//! been read by then. And a queue that is watched for changes reports only the *next* event
//! that comes in. So [`clear`](PollSet::clear) takes all events out, after the other
//! descriptor was read. From then on each write to it is a new event (`EV_CLEAR`).

use std::io;
use std::mem::{self, ManuallyDrop};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use std::time::Duration;

use blitz_io_core::generation;

/// The queue of kernel events.
#[derive(Debug)]
pub(crate) struct PollSet {
    queue: ManuallyDrop<OwnedFd>,
    /// A forked child does not have the queue; there its number may belong to another file.
    generation: u32,
}

/// The only timer of a queue.
const TIMER: usize = 0;

const NOW: libc::timespec = libc::timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

impl PollSet {
    /// `other` stays open for as long as this is used.
    pub(crate) fn new(other: BorrowedFd<'_>) -> io::Result<Self> {
        // SAFETY: creates a descriptor.
        let queue = unsafe { libc::kqueue() };
        if queue < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it has just been made, and this is its only owner.
        let queue = unsafe { OwnedFd::from_raw_fd(queue) };
        // SAFETY: the descriptor is open.
        if unsafe { libc::fcntl(queue.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let set = Self {
            queue: ManuallyDrop::new(queue),
            generation: generation(),
        };
        let other = other.as_raw_fd() as usize;
        let flags = libc::EV_ADD | libc::EV_CLEAR | libc::EV_RECEIPT;
        let [result] = set.change([event(other, libc::EVFILT_READ, flags, 0)])?;
        match result {
            0 => Ok(set),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Makes the set unreadable.
    pub(crate) fn clear(&self) {
        let mut events = [event(0, 0, 0, 0); 4];
        // If the room is filled, there may be more events.
        while self.call(&[], &mut events).ok() == Some(events.len()) {}
    }

    /// Starts the timer, and replaces an earlier one.
    pub(crate) fn start_timer(&self, after: Duration) -> io::Result<()> {
        let milliseconds = after.as_millis() as i64;
        let remove = libc::EV_DELETE | libc::EV_RECEIPT;
        let add = libc::EV_ADD | libc::EV_ONESHOT | libc::EV_RECEIPT;
        // The first change fails if the timer has expired. Adding a timer that exists does
        // not restart it on every system.
        let [_, added] = self.change([
            event(TIMER, libc::EVFILT_TIMER, remove, 0),
            event(TIMER, libc::EVFILT_TIMER, add, milliseconds),
        ])?;
        match added {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Makes `changes`, all with `EV_RECEIPT`. Returns the error of each, or 0.
    fn change<const N: usize>(&self, changes: [libc::kevent; N]) -> io::Result<[i32; N]> {
        let mut receipts = changes;
        let count = self.call(&changes, &mut receipts)?;
        debug_assert_eq!(count, N);
        Ok(receipts.map(|receipt| receipt.data as i32))
    }

    fn call(&self, changes: &[libc::kevent], events: &mut [libc::kevent]) -> io::Result<usize> {
        let (change_count, event_count) = (changes.len() as _, events.len() as _);
        let queue = self.queue.as_raw_fd();
        let (changes, events) = (changes.as_ptr(), events.as_mut_ptr());
        loop {
            // SAFETY: the counts are the lengths of the two lists.
            let count =
                unsafe { libc::kevent(queue, changes, change_count, events, event_count, &NOW) };
            match usize::try_from(count) {
                Ok(count) => return Ok(count),
                Err(_) => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::Interrupted => {}
                    error => return Err(error),
                },
            }
        }
    }
}

fn event(ident: usize, filter: i16, flags: u16, data: i64) -> libc::kevent {
    // SAFETY: all zeros is a valid `kevent`; systems differ in its other fields.
    let mut event: libc::kevent = unsafe { mem::zeroed() };
    event.ident = ident;
    event.filter = filter;
    event.flags = flags;
    event.data = data as _;
    event.udata = ptr::null_mut();
    event
}

impl AsFd for PollSet {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}

impl Drop for PollSet {
    fn drop(&mut self) {
        if self.generation == generation() {
            // SAFETY: it is not used any more.
            unsafe { ManuallyDrop::drop(&mut self.queue) };
        }
    }
}
