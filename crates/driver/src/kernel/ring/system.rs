//! io_uring.
//!
//! # The path of an operation
//!
//! 1. *Queued*, by any thread, in [`Ring::queue`]. A driver's first operation sets up the
//!    ring and registers its descriptor with the driver's poll, which ends when something
//!    completes.
//! 2. *Submitted*, by a thread that polls, or is about to wait. So operations go to the
//!    kernel in batches.
//! 3. *Completed*: taken from the ring right after a submission (operations that need no
//!    waiting are done by then) or after a poll.
//!
//! # Every operation completes
//!
//! The kernel does not continue the operations of a thread that has exited. They complete
//! with `ECANCELED` or `EINTR`, at once or at the event that they wait for, although they
//! were not cancelled, and [`InFlight`](super::InFlight) returns them, to be done another
//! way. So it does not matter which thread submits.
//!
//! There are never more operations under way than the ring has room for completions; beyond
//! that they are refused, and done another way. Requests to cancel come on top; if the
//! completions overflow, the kernel keeps them, and reports it.
//!
//! # Closing
//!
//! Once the ring is closed, nothing more is queued. Then all operations under way are
//! cancelled, and awaited: only after that has the kernel released all buffers. Operations
//! on files, which cannot be cancelled once they have begun, end by themselves.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::OnceLock;
use std::time::Duration;

use blitz_io_core::fences::after_rmw;
use blitz_io_futex::atomic::{AtomicBool, AtomicUsize, Ordering};
use io_uring::squeue::Entry;
use io_uring::{IoUring, Probe, opcode, types};
use mio::unix::SourceFd;

use crate::kernel::completion::{Header, cancelled, complete};
use crate::kernel::selector::Selector;
use crate::kernel::wakers::Wakers;
use blitz_io_core::Lock;

/// The number of operations that go to the kernel in one batch.
const SUBMISSIONS: u32 = 256;
/// The number of operations that may be under way: the kernel's own ratio is 2, but
/// operations that wait for a disk take longer than their submission.
const COMPLETIONS: u32 = 4 * SUBMISSIONS;
/// The time after which the closing of the ring requests cancellation again: a request can
/// miss an operation that is on its way from one of the kernel's queues to another.
const REPEAT_CANCEL: Duration = Duration::from_millis(10);
/// The operations that drivers and their users need. All are older than the flags of
/// [`set_up`].
const OPERATIONS: [u8; 6] = [
    opcode::AsyncCancel2::CODE,
    opcode::Fsync::CODE,
    opcode::Read::CODE,
    opcode::Recv::CODE,
    opcode::Send::CODE,
    opcode::Write::CODE,
];
/// Marks the completion of a request to cancel: a header's address is even.
const CANCEL: u64 = 1;

/// The part that any thread may use.
pub struct Ring {
    is_allowed: AtomicBool,
    /// `true` if there is a ring; empty before the first attempt to set it up.
    is_set_up: OnceLock<bool>,
    queue: Lock<Queue>,
    /// More than zero while something waits for a submission.
    queued: AtomicUsize,
    /// The number of operations that are queued or under way in the kernel.
    in_flight: AtomicUsize,
}

#[derive(Default)]
struct Queue {
    entries: VecDeque<Entry>,
    /// A ring that has just been set up.
    uring: Option<IoUring>,
    is_closed: bool,
}

/// The part that belongs to the thread that submits, or takes completions.
#[derive(Default)]
pub struct Turn {
    uring: Option<IoUring>,
    /// Entries taken from the queue and not submitted yet.
    entries: VecDeque<Entry>,
}

impl Default for Ring {
    fn default() -> Self {
        Self {
            is_allowed: AtomicBool::new(true),
            is_set_up: OnceLock::new(),
            queue: Lock::new(Queue::default()),
            queued: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
        }
    }
}

/// Creates a ring that supports all of [`OPERATIONS`]. Its flags let other threads see a
/// blocked owner's completions; with `DEFER_TASKRUN` they could not.
fn set_up() -> io::Result<IoUring> {
    let uring = IoUring::builder()
        .setup_coop_taskrun()
        .setup_taskrun_flag()
        .setup_cqsize(COMPLETIONS)
        .build(SUBMISSIONS)?;
    let mut known = Probe::new();
    uring.submitter().register_probe(&mut known)?;
    if OPERATIONS.iter().all(|code| known.is_supported(*code)) {
        Ok(uring)
    } else {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Tests whether the system provides a ring as drivers use it.
///
/// # Errors
///
/// Returns the system's reason if not: an old kernel, or a sandbox.
pub fn probe() -> io::Result<()> {
    set_up().map(drop)
}

impl Ring {
    pub fn allow(&self, is_allowed: bool) {
        self.is_allowed.store(is_allowed, Ordering::Relaxed);
    }

    /// Returns `true` if there is a ring; the first call sets it up.
    pub fn is_set_up(&self, selector: &Selector) -> bool {
        *self.is_set_up.get_or_init(|| {
            if !self.is_allowed.load(Ordering::Relaxed) {
                return false;
            }
            let Ok(uring) = set_up() else { return false };
            let descriptor = uring.as_raw_fd();
            if selector.register_ring(&mut SourceFd(&descriptor)).is_err() {
                return false;
            }
            self.queue.lock().uring = Some(uring);
            true
        })
    }

    /// Returns `true` if nothing is queued or under way. Sequentially consistent: see
    /// `driver.rs`.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.in_flight.load(Ordering::SeqCst) == 0
    }

    /// Returns `true` if something waits for a submission. Sequentially consistent: see
    /// `driver.rs`.
    #[inline]
    pub fn has_queued(&self) -> bool {
        self.queued.load(Ordering::SeqCst) != 0
    }

    /// Queues an operation. Returns `false` if there is no room, or if the ring is closed.
    pub fn push(&self, entry: Entry) -> bool {
        if self.in_flight.load(Ordering::Relaxed) >= COMPLETIONS as usize {
            return false;
        }
        self.push_any(entry)
    }

    /// Queues a request to cancel the operation at this address, which must have been
    /// queued. Returns `false` if the ring is closed.
    pub fn cancel(&self, header: *const Header) -> bool {
        let address = header.expose_provenance() as u64;
        let cancel = opcode::AsyncCancel::new(address).build();
        self.push_any(cancel.user_data(address | CANCEL))
    }

    fn push_any(&self, entry: Entry) -> bool {
        let mut queue = self.queue.lock();
        if queue.is_closed {
            return false;
        }
        queue.entries.push_back(entry);
        // Also makes the operation visible to the thread that takes its completion: the
        // kernel does that, but the memory model does not know it.
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        self.queued.fetch_add(1, Ordering::SeqCst);
        after_rmw();
        true
    }

    /// Prevents further queueing. Returns `true` if there is a ring.
    pub fn close(&self) -> bool {
        self.queue.lock().is_closed = true;
        self.is_set_up.get() == Some(&true)
    }
}

impl Turn {
    /// Submits the queued entries to the kernel. Returns `false` if that failed, or if
    /// something has completed already: then the caller must not wait for long.
    #[inline]
    pub fn submit(&mut self, ring: &Ring, wakers: &mut Wakers) -> bool {
        let is_empty = self.submit_all(ring);
        if !is_empty {
            // The next thread that polls tries again.
            ring.queued.fetch_add(1, Ordering::SeqCst);
        }
        self.complete(ring, wakers) == 0 && is_empty
    }

    fn submit_all(&mut self, ring: &Ring) -> bool {
        {
            let mut queue = ring.queue.lock();
            self.entries.append(&mut queue.entries);
            if queue.uring.is_some() {
                self.uring = queue.uring.take();
            }
            ring.queued.store(0, Ordering::Relaxed);
        }
        let Some(uring) = &mut self.uring else {
            return self.entries.is_empty();
        };
        loop {
            let mut submission = uring.submission();
            while let Some(entry) = self.entries.front() {
                // SAFETY: the contract of `Operation`: memory that the entry points to
                // does not move until the completion is delivered.
                if unsafe { submission.push(entry) }.is_err() {
                    break;
                }
                self.entries.pop_front();
            }
            drop(submission);
            match uring.submit() {
                Ok(0) => return uring.submission().is_empty() && self.entries.is_empty(),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The kernel is short of memory, or completions must be taken first.
                Err(_) => return false,
            }
            if uring.submission().is_empty() && self.entries.is_empty() {
                return true;
            }
        }
    }

    /// Delivers the completions, and returns their number.
    pub fn complete(&mut self, ring: &Ring, wakers: &mut Wakers) -> usize {
        let Some(uring) = &mut self.uring else {
            return 0;
        };
        let mut all = 0;
        loop {
            let mut count = 0;
            let completion = uring.completion();
            if !completion.is_empty() {
                ring.in_flight.load(Ordering::Acquire);
                for entry in completion {
                    deliver(entry.user_data(), entry.result(), wakers);
                    count += 1;
                }
                ring.in_flight.fetch_sub(count, Ordering::AcqRel);
                all += count;
            } else {
                drop(completion);
            }
            let submission = uring.submission();
            let has_more = submission.cq_overflow() || submission.taskrun();
            drop(submission);
            // The kernel has kept some back.
            if !has_more || uring.submit().is_err() || uring.completion().is_empty() {
                return all;
            }
        }
    }

    /// Cancels and awaits all operations under way. Nothing more can be queued.
    pub fn end(&mut self, ring: &Ring, wakers: &mut Wakers) {
        // Submits the queued operations first, so that the request to cancel finds them.
        self.submit_all(ring);
        self.complete(ring, wakers);
        while !ring.is_idle() && self.uring.is_some() {
            let cancel = opcode::AsyncCancel2::new(types::CancelBuilder::any()).build();
            self.entries.push_back(cancel.user_data(0));
            ring.in_flight.fetch_add(1, Ordering::Relaxed);
            self.submit_all(ring);
            if let Some(uring) = &self.uring {
                let time = types::Timespec::from(REPEAT_CANCEL);
                let args = types::SubmitArgs::new().timespec(&time);
                // An error is a timeout, or a temporary one.
                _ = uring.submitter().submit_with_args(1, &args);
            }
            self.complete(ring, wakers);
        }
    }
}

fn deliver(data: u64, result: i32, wakers: &mut Wakers) {
    let header = std::ptr::with_exposed_provenance::<Header>((data & !CANCEL) as usize);
    if data & CANCEL != 0 {
        // SAFETY: `cancel` got the address from `lend_to_cancel`, for this completion.
        unsafe { cancelled(header, wakers) };
    } else if data != 0 {
        // SAFETY: `Driver::start` got the address from `lend`, and an operation has one
        // completion.
        unsafe { complete(header, result, wakers) };
    }
}
