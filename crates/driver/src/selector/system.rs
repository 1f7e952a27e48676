//! mio's poll: epoll, kqueue, or what Windows has.

use std::io;
use std::time::{Duration, Instant};

use mio::event::{Event, Source};
use mio::{Events, Interest, Poll, Token, Waker};

use super::Report;
use crate::bits::{self, Bits};

/// No entry has this address.
const WAKE: Token = Token(0);

/// Nor this one: they are aligned.
#[cfg(io_uring)]
const RING: Token = Token(1);

/// Waits for events. One thread at a time.
pub struct Selector {
    poll: Poll,
    events: Events,
    /// For polls that do not wait, if they have a size of their own.
    events_busy: Option<Events>,
    /// Those have been used last.
    is_busy: bool,
}

/// What any thread may do meanwhile.
pub struct Registry {
    registry: mio::Registry,
    waker: Waker,
}

impl Selector {
    /// `events`: how many one poll may report; `events_busy`: one that does not wait.
    pub fn new(events: usize, events_busy: Option<usize>) -> io::Result<(Self, Registry)> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKE)?;
        let registry = poll.registry().try_clone()?;
        let selector = Self {
            poll,
            events: Events::with_capacity(events),
            events_busy: events_busy.map(Events::with_capacity),
            is_busy: false,
        };
        Ok((selector, Registry { registry, waker }))
    }

    /// Waits for events until `deadline`, at least as long as it takes to see those that
    /// are there.
    ///
    /// # Panics
    ///
    /// If the system refuses: somebody has closed our descriptor.
    pub fn wait(&mut self, deadline: Option<Instant>) {
        let time = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        self.is_busy = false;
        self.poll(time);
    }

    /// Reports the events that are there.
    pub fn look(&mut self) {
        self.is_busy = self.events_busy.is_some();
        self.poll(Some(Duration::ZERO));
    }

    fn poll(&mut self, time: Option<Duration>) {
        let events = match &mut self.events_busy {
            Some(busy) if self.is_busy => busy,
            _ => &mut self.events,
        };
        match self.poll.poll(events, time) {
            Ok(()) => {}
            // The caller waits again if there is nothing else to be done.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => events.clear(),
            Err(error) => panic!("unexpected error when polling the I/O driver: {error:?}"),
        }
    }

    /// What the last poll has found.
    pub fn reports(&self) -> impl Iterator<Item = Report> {
        let events = match &self.events_busy {
            Some(busy) if self.is_busy => busy,
            _ => &self.events,
        };
        events.iter().map(|event| match event.token() {
            WAKE => Report::Wake,
            // It has ended the poll, and that is all.
            #[cfg(io_uring)]
            RING => Report::Wake,
            Token(token) => Report::Source(token, bits_of(event)),
        })
    }
}

impl Registry {
    /// Ends the poll that goes on, or the next one.
    ///
    /// # Panics
    ///
    /// If the system refuses.
    pub fn wake(&self) {
        self.waker.wake().expect("failed to wake I/O driver");
    }

    pub fn register(
        &self,
        source: &mut (impl Source + ?Sized),
        token: usize,
        interest: Interest,
    ) -> io::Result<()> {
        self.registry.register(source, Token(token), interest)
    }

    /// Registers a ring of completions, so that they end a poll.
    #[cfg(io_uring)]
    pub fn register_ring(&self, ring: &mut impl Source) -> io::Result<()> {
        self.registry.register(ring, RING, Interest::READABLE)
    }

    pub fn deregister(&self, source: &mut (impl Source + ?Sized)) -> io::Result<()> {
        self.registry.deregister(source)
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
    // A finished operation of POSIX's asynchronous I/O can be fetched.
    #[cfg(target_os = "freebsd")]
    {
        pairs[0].0 |= event.is_aio() || event.is_lio();
    }
    (pairs.into_iter()).fold(0, |all, (is_set, bit)| all | if is_set { bit } else { 0 })
}
