//! epoll: any number of threads wait at the same time.
//!
//! mio creates the epoll instance and registers sources. The waiting is done here,
//! because only one thread can wait in mio's poll, while the kernel lets any thread wait:
//!
//! * An event wakes one of the waiting threads, the latest to begin its wait. If another
//!   thread polls before the woken thread runs, that other thread gets the event, and the
//!   woken thread continues to wait.
//! * As all sources are edge-triggered, one poll reports an event and no other does.

use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use mio::event::Source;
use mio::unix::SourceFd;
use mio::{Interest, Poll, Token, Waker};

use super::timer::Timer;
use super::timer_descriptor::Kernel;
use super::{Report, Wait};
use crate::kernel::bits::{self, Bits};

// No entry has one of these tokens: see `entries.rs`.
const WAKE: Token = Token(usize::MAX);
const TIMER: Token = Token(usize::MAX - 1);
#[cfg(io_uring)]
const RING: Token = Token(usize::MAX - 2);

/// The memory of a poll, which a thread keeps from one poll to the next.
pub type Memory = Vec<libc::epoll_event>;

/// The memory of a thread that has not polled yet.
pub const NO_MEMORY: Memory = Memory::new();

/// The epoll instance of a driver, in which any number of threads wait.
pub struct Selector {
    poll: Poll,
    waker: Waker,
    /// `None` if no more descriptors could be opened: then polls use time-outs.
    timer: Option<Timer>,
    events: usize,
    events_busy: usize,
}

impl Selector {
    /// `true` if several threads may wait at the same time.
    pub const IS_SHARED: bool = true;

    /// Creates a selector. `events` limits how many events one poll reports, `events_busy`
    /// one that does not wait.
    pub fn new(events: usize, events_busy: Option<usize>) -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKE)?;
        let timer = timer(poll.registry());
        Ok(Self {
            poll,
            waker,
            timer,
            events,
            events_busy: events_busy.unwrap_or(events),
        })
    }

    /// Polls, and calls `report` for each event.
    ///
    /// # Panics
    ///
    /// Panics if the system refuses, because other code has closed the descriptor.
    pub fn poll(&self, wait: Wait, memory: &mut Memory, mut report: impl FnMut(Report)) {
        let (most, time) = match wait {
            Wait::Not => (self.events_busy, 0),
            Wait::Until(None) => (self.events, -1),
            Wait::Until(Some(deadline)) => (self.events, self.time_out(deadline)),
        };
        self.fetch(most, time, memory);
        for event in memory.iter() {
            report(match Token(event.u64 as usize) {
                WAKE => Report::Wake,
                TIMER => {
                    self.timer.iter().for_each(Timer::expired);
                    Report::Expired
                }
                #[cfg(io_uring)]
                RING => Report::Completions,
                Token(token) => Report::Source(token, bits_of(event.events)),
            });
        }
    }

    /// Returns the time-out, in milliseconds, of a poll until this deadline: none if the
    /// timer ends the poll.
    fn time_out(&self, deadline: Instant) -> libc::c_int {
        let time = deadline.saturating_duration_since(Instant::now());
        if time.is_zero() {
            return 0;
        }
        if self.set_timer(deadline) {
            return -1;
        }
        let rounded_up = time + Duration::from_nanos(999_999);
        rounded_up
            .as_millis()
            .try_into()
            .unwrap_or(libc::c_int::MAX)
    }

    fn fetch(&self, most: usize, time: libc::c_int, memory: &mut Memory) {
        memory.clear();
        memory.reserve(most);
        let most = most.try_into().unwrap_or(libc::c_int::MAX);
        let descriptor = self.poll.as_raw_fd();
        // SAFETY: `memory` has room for `most` events, and the kernel reads none of them.
        let count = unsafe { libc::epoll_wait(descriptor, memory.as_mut_ptr(), most, time) };
        match usize::try_from(count) {
            // SAFETY: the kernel has written that many.
            Ok(count) => unsafe { memory.set_len(count) },
            Err(_) => {
                let error = io::Error::last_os_error();
                // The caller waits again if there is nothing else to do.
                if error.kind() != io::ErrorKind::Interrupted {
                    panic!("unexpected error when polling the I/O driver: {error:?}");
                }
            }
        }
    }

    /// Ends one poll that waits, or the next one.
    ///
    /// # Panics
    ///
    /// Panics if the system refuses.
    pub fn wake(&self) {
        self.waker.wake().expect("failed to wake I/O driver");
    }

    /// Makes the timer expire by `deadline`, which ends one poll that waits, or the next
    /// one. Returns `false` if there is no timer.
    pub fn set_timer(&self, deadline: Instant) -> bool {
        (self.timer.as_ref()).is_some_and(|timer| timer.set_by(deadline))
    }

    pub fn register(
        &self,
        source: &mut (impl Source + ?Sized),
        token: usize,
        interest: Interest,
    ) -> io::Result<()> {
        self.poll
            .registry()
            .register(source, Token(token), interest)
    }

    /// Registers a ring of completions, so that completions end a poll.
    #[cfg(io_uring)]
    pub fn register_ring(&self, ring: &mut impl Source) -> io::Result<()> {
        self.poll
            .registry()
            .register(ring, RING, Interest::READABLE)
    }

    pub fn deregister(&self, source: &mut (impl Source + ?Sized)) -> io::Result<()> {
        self.poll.registry().deregister(source)
    }
}

fn timer(registry: &mio::Registry) -> Option<Timer> {
    let kernel = Kernel::new().ok()?;
    let descriptor = kernel.as_raw_fd();
    let registered = registry.register(&mut SourceFd(&descriptor), TIMER, Interest::READABLE);
    registered.ok().map(|()| Timer::new(kernel))
}

/// Translates the kernel's bits as mio does.
fn bits_of(events: u32) -> Bits {
    let has = |bits: libc::c_int| events & bits as u32 != 0;
    let (hung_up, failed) = (has(libc::EPOLLHUP), has(libc::EPOLLERR));
    bits::of(&[
        (has(libc::EPOLLIN | libc::EPOLLPRI), bits::READABLE),
        (has(libc::EPOLLOUT), bits::WRITABLE),
        (
            hung_up || has(libc::EPOLLIN) && has(libc::EPOLLRDHUP),
            bits::READ_CLOSED,
        ),
        (
            hung_up || failed && (has(libc::EPOLLOUT) || events == libc::EPOLLERR as u32),
            bits::WRITE_CLOSED,
        ),
        (has(libc::EPOLLPRI), bits::PRIORITY),
        (failed, bits::ERROR),
    ])
}
