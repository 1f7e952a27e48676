//! mio's poll: epoll, kqueue, or what Windows provides.

use std::io;
#[cfg(timer)]
use std::os::fd::AsRawFd;
#[cfg(timer)]
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::event::{Event, Source};
#[cfg(timer)]
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};

use super::Report;
#[cfg(timer)]
use super::timer::{Kernel, Timer};
use crate::bits::{self, Bits};

/// No entry has this address.
const WAKE: Token = Token(0);

/// No entry has this address either: entries are aligned.
#[cfg(io_uring)]
const RING: Token = Token(1);

/// No entry has this address either.
#[cfg(timer)]
const TIMER: Token = Token(2);

/// Waits for events. Only one thread at a time uses it.
pub struct Selector {
    poll: Poll,
    events: Events,
    /// For polls that do not wait, if they have a size of their own.
    events_busy: Option<Events>,
    /// Whether `events_busy` were used last.
    is_busy: bool,
    #[cfg(timer)]
    timer: Option<Arc<Timer>>,
}

/// The part that any thread may use meanwhile.
pub struct Registry {
    registry: mio::Registry,
    waker: Waker,
    #[cfg(timer)]
    timer: Option<Arc<Timer>>,
}

impl Selector {
    /// Creates both parts. `events` limits how many events one poll reports, `events_busy`
    /// one that does not wait.
    pub fn new(events: usize, events_busy: Option<usize>) -> io::Result<(Self, Registry)> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKE)?;
        let registry = poll.registry().try_clone()?;
        #[cfg(timer)]
        let timer = timer(&registry);
        let selector = Self {
            poll,
            events: Events::with_capacity(events),
            events_busy: events_busy.map(Events::with_capacity),
            is_busy: false,
            #[cfg(timer)]
            timer: timer.clone(),
        };
        let registry = Registry {
            registry,
            waker,
            #[cfg(timer)]
            timer,
        };
        Ok((selector, registry))
    }

    /// Waits for events until `deadline`, or at least as long as it takes to see those that
    /// are already there.
    ///
    /// # Panics
    ///
    /// Panics if the system refuses, because other code has closed the descriptor.
    pub fn wait(&mut self, deadline: Option<Instant>) {
        self.is_busy = false;
        self.poll(deadline.and_then(|deadline| self.time_out(deadline)));
    }

    /// Returns the timeout that a poll until this deadline needs.
    fn time_out(&self, deadline: Instant) -> Option<Duration> {
        let time = deadline.saturating_duration_since(Instant::now());
        #[cfg(timer)]
        if !time.is_zero() && (self.timer.as_ref()).is_some_and(|timer| timer.set_by(deadline)) {
            return None;
        }
        Some(time)
    }

    /// Collects the events that are there, without waiting.
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
            // The caller waits again if there is nothing else to do.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => events.clear(),
            Err(error) => panic!("unexpected error when polling the I/O driver: {error:?}"),
        }
    }

    /// Returns what the last poll has found.
    pub fn reports(&self) -> impl Iterator<Item = Report> {
        let events = match &self.events_busy {
            Some(busy) if self.is_busy => busy,
            _ => &self.events,
        };
        events.iter().map(|event| match event.token() {
            WAKE => Report::Wake,
            // It has only ended the poll.
            #[cfg(io_uring)]
            RING => Report::Wake,
            #[cfg(timer)]
            TIMER => {
                self.timer.iter().for_each(|timer| timer.expired());
                Report::Wake
            }
            Token(token) => Report::Source(token, bits_of(event)),
        })
    }
}

impl Registry {
    /// Ends the current poll, or the next one.
    ///
    /// # Panics
    ///
    /// Panics if the system refuses.
    pub fn wake(&self) {
        self.waker.wake().expect("failed to wake I/O driver");
    }

    /// Ends the current poll by `deadline`. Returns `false` if there is no timer for that.
    pub fn wake_by(&self, deadline: Instant) -> bool {
        #[cfg(timer)]
        return (self.timer.as_ref()).is_some_and(|timer| timer.set_by(deadline));
        #[cfg(not(timer))]
        {
            _ = deadline;
            false
        }
    }

    pub fn register(
        &self,
        source: &mut (impl Source + ?Sized),
        token: usize,
        interest: Interest,
    ) -> io::Result<()> {
        self.registry.register(source, Token(token), interest)
    }

    /// Registers a ring of completions, so that completions end a poll.
    #[cfg(io_uring)]
    pub fn register_ring(&self, ring: &mut impl Source) -> io::Result<()> {
        self.registry.register(ring, RING, Interest::READABLE)
    }

    pub fn deregister(&self, source: &mut (impl Source + ?Sized)) -> io::Result<()> {
        self.registry.deregister(source)
    }
}

/// Creates a timer that ends polls. Without one, for example when no more descriptors may
/// be opened, polls use timeouts.
#[cfg(timer)]
fn timer(registry: &mio::Registry) -> Option<Arc<Timer>> {
    let kernel = Kernel::new().ok()?;
    let descriptor = kernel.as_raw_fd();
    let registered = registry.register(&mut SourceFd(&descriptor), TIMER, Interest::READABLE);
    registered.ok().map(|()| Arc::new(Timer::new(kernel)))
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
    (pairs.into_iter()).fold(0, |all, (is_set, bit)| all | if is_set { bit } else { 0 })
}
