//! mio's poll behind a lock, for kqueue and Windows.

use std::io;
use std::time::{Duration, Instant};

use mio::event::{Event, Source};
use mio::{Events, Interest, Poll, Token, Waker};

use super::{Report, Wait};
use crate::kernel::bits::{self, Bits};
use blitz_io_core::Lock;

/// No entry has this token.
const WAKE: Token = Token(usize::MAX);

/// The memory of a poll is in the selector.
#[derive(Default)]
pub struct Memory;

/// The memory of a thread that has not polled yet.
pub const NO_MEMORY: Memory = Memory;

/// mio's poll, which one thread uses at once.
pub struct Selector {
    polling: Lock<Polling>,
    registry: mio::Registry,
    waker: Waker,
}

/// The state that belongs to the thread that polls.
struct Polling {
    poll: Poll,
    events: Events,
    /// The events of polls that do not wait, if these have a size of their own.
    events_busy: Option<Events>,
}

impl Selector {
    /// `true` if several threads may wait at the same time.
    pub const IS_SHARED: bool = false;

    /// Creates a selector. `events` limits how many events one poll reports, `events_busy`
    /// one that does not wait.
    pub fn new(events: usize, events_busy: Option<usize>) -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKE)?;
        let registry = poll.registry().try_clone()?;
        let polling = Lock::new(Polling {
            poll,
            events: Events::with_capacity(events),
            events_busy: events_busy.map(Events::with_capacity),
        });
        Ok(Self {
            polling,
            registry,
            waker,
        })
    }

    /// Polls, and calls `report` for each event. A poll that does not wait does nothing
    /// while another thread polls.
    ///
    /// # Panics
    ///
    /// Panics if the system refuses, because other code has closed the descriptor.
    pub fn poll(&self, wait: Wait, _memory: &mut Memory, report: impl FnMut(Report)) {
        match wait {
            Wait::Until(deadline) => {
                let time = deadline.map(|at| at.saturating_duration_since(Instant::now()));
                self.polling.lock().poll(time, false, report);
            }
            Wait::Not => {
                if let Some(mut polling) = self.polling.try_lock() {
                    polling.poll(Some(Duration::ZERO), true, report);
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

    /// Makes the timer expire by `deadline`. Returns `false`: there is no timer.
    pub fn set_timer(&self, _deadline: Instant) -> bool {
        false
    }

    pub fn register(
        &self,
        source: &mut (impl Source + ?Sized),
        token: usize,
        interest: Interest,
    ) -> io::Result<()> {
        self.registry.register(source, Token(token), interest)
    }

    pub fn deregister(&self, source: &mut (impl Source + ?Sized)) -> io::Result<()> {
        self.registry.deregister(source)
    }
}

impl Polling {
    fn poll(&mut self, time: Option<Duration>, is_busy: bool, mut report: impl FnMut(Report)) {
        let events = match &mut self.events_busy {
            Some(busy) if is_busy => busy,
            _ => &mut self.events,
        };
        match self.poll.poll(events, time) {
            Ok(()) => {}
            // The caller waits again if there is nothing else to do.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
            Err(error) => panic!("unexpected error when polling the I/O driver: {error:?}"),
        }
        for event in &*events {
            report(match event.token() {
                WAKE => Report::Wake,
                Token(token) => Report::Source(token, bits_of(event)),
            });
        }
    }
}

fn bits_of(event: &Event) -> Bits {
    #[allow(unused_mut)]
    let mut pairs = [
        (event.is_readable(), bits::READABLE),
        (event.is_writable(), bits::WRITABLE),
        (event.is_read_closed(), bits::READ_CLOSED),
        (event.is_write_closed(), bits::WRITE_CLOSED),
        (event.is_priority(), bits::PRIORITY),
        (event.is_error(), bits::ERROR),
    ];
    // A completed operation of POSIX asynchronous I/O can be fetched.
    #[cfg(target_os = "freebsd")]
    {
        pairs[0].0 |= event.is_aio() || event.is_lio();
    }
    bits::of(&pairs)
}
