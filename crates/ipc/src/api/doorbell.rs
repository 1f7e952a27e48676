//! Waking through a descriptor, for tasks: they cannot sleep on a futex word.
//!
//! A doorbell has an end for wake-ups, and a timer, both in one descriptor, which a runtime
//! registers. On Linux these are a datagram socket with an abstract address and an epoll
//! set, on other systems a named pipe beside the segment and a kqueue
//! (`sys/unix/wakeups_….rs`, `epoll.rs`, `kqueue.rs`).
//!
//! * A waiter *arms*: it empties the doorbell, writes the event for which it waits to its
//!   record, starts the timer, sets `DOORBELL` in the event count, and looks again.
//! * A notifier that finds `DOORBELL` clears it, goes through the records, and sends a
//!   wake-up to each participant that is armed for the event, after disarming it.
//!
//! **No wake-up is lost**, as in `event_count.rs`. The waiter empties the doorbell, arms
//! the record, sets the flag, and looks again, in this order.
//!
//! 1. A notifier that misses the flag has made its change before the second look.
//! 2. A notifier that sees the flag finds the armed record.
//! 3. The doorbell is emptied before the record is armed, so the waiter never discards the
//!    wake-up of a later change.
//!
//! In a simulation, `simulated.rs` takes the place of the descriptor.
//!
//! **The dead.** A sender that dies sends no wake-up. So a timer also wakes an armed
//! waiter, which then looks for dead participants, like a thread.

#[cfg(feature = "async")]
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
#[cfg(feature = "async")]
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
#[cfg(feature = "async")]
use std::task::Poll;
use std::time::Instant;

#[cfg(feature = "async")]
use blitz_io_aio::Interest;
#[cfg(feature = "async")]
use blitz_io_driver::{AsyncFd, Driver, current};
use blitz_io_observe::decisions;

use crate::api::segment::{FIRST_PARTICIPANT, Segment};
#[cfg(feature = "async")]
use crate::api::simulated;
use crate::api::sys::{self, PollSet, Wakeups};
use crate::api::wait_policy::LOOK_EVERY;
use crate::kernel::memory::record;
use crate::kernel::ring::Awaited;

/// A descriptor that becomes readable when an operation should be tried again.
///
/// Register it with a runtime, for reading only, for example with Tokio's
/// `AsyncFd::register_with_interest`: macOS and FreeBSD refuse to watch it for writing. It
/// becomes readable some time after
/// [`Receiver::try_recv_or_arm`](crate::Receiver::try_recv_or_arm) has returned
/// [`RecvError::Empty`](crate::RecvError::Empty), or a
/// send with [`SendOptions::arm`](crate::SendOptions::arm) has returned
/// [`SendError::Full`](crate::SendError::Full).
#[derive(Clone, Debug)]
pub struct Doorbell(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    // First: the set watches the wake-ups.
    set: PollSet,
    wakeups: Wakeups,
}

impl Doorbell {
    fn new(segment: &Segment, me: usize) -> io::Result<Self> {
        let path = segment.path.as_deref();
        let wakeups = Wakeups::new(&segment.file, path, FIRST_PARTICIPANT + me)?;
        let set = PollSet::new(wakeups.as_fd())?;
        Ok(Self(Arc::new(Parts { set, wakeups })))
    }

    /// Makes it unreadable until the next wake-up.
    fn empty(&self) {
        self.0.wakeups.empty();
        self.0.set.clear();
    }
}

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.set.as_fd()
    }
}

impl AsRawFd for Doorbell {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

/// A participant's own doorbell, made when it first awaits something.
#[derive(Debug, Default)]
pub(crate) struct OwnDoorbell {
    doorbell: Option<Doorbell>,
    timer_until: Option<Instant>,
    #[cfg(feature = "async")]
    registered: Option<Arc<Watched>>,
}

/// A doorbell that a runtime watches.
#[cfg(feature = "async")]
#[derive(Debug)]
pub(crate) struct Watched {
    descriptor: AsyncFd<Doorbell>,
    driver: Arc<Driver>,
}

#[cfg(feature = "async")]
impl Watched {
    /// Returns `true` if the driver of the calling thread is another one. Outside of a runtime there
    /// is none.
    fn is_of_another_driver(&self) -> bool {
        current::try_driver().is_ok_and(|own| !Arc::ptr_eq(&own, &self.driver))
    }
}

impl OwnDoorbell {
    pub(crate) fn get(&mut self, segment: &Segment, me: usize) -> io::Result<&Doorbell> {
        if self.doorbell.is_none() {
            self.doorbell = Some(Doorbell::new(segment, me)?);
        }
        self.doorbell
            .as_ref()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Returns the doorbell, registered with the current runtime: the driver of an earlier
    /// one watches nothing while that runtime is idle. After an error of the driver, call
    /// [`deregister`](Self::deregister).
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in one without I/O.
    #[cfg(feature = "async")]
    pub(crate) fn registered(&mut self, segment: &Segment, me: usize) -> io::Result<Arc<Watched>> {
        if let Some(registered) = &self.registered {
            if !registered.is_of_another_driver() {
                return Ok(registered.clone());
            }
            self.registered = None;
        }
        let doorbell = self.get(segment, me)?.clone();
        // SAFETY: a doorbell has the same open descriptor for as long as it lives, and the
        // `AsyncFd` owns this doorbell.
        let descriptor = unsafe { AsyncFd::register_with_interest(doorbell, Interest::READABLE)? };
        let registered = Arc::new(Watched {
            descriptor: descriptor.without_records(),
            driver: current::driver(),
        });
        Ok(self.registered.insert(registered).clone())
    }

    /// Makes the next wait register again.
    #[cfg(feature = "async")]
    pub(crate) fn deregister(&mut self) {
        self.registered = None;
    }

    /// Arms the doorbell. The caller then looks a second time.
    pub(crate) fn arm(&mut self, segment: &Segment, me: usize, awaited: Awaited) -> io::Result<()> {
        if !decisions::is_on() {
            self.prepare(segment, me)?;
        }
        segment
            .ring
            .memory
            .record(me, record::ARMED)
            .swap(awaited as u64);
        let event_count = segment.ring.event_count(awaited);
        event_count.prepare(crate::kernel::event_count::DOORBELL);
        Ok(())
    }

    /// Empties the doorbell, names it in the record, and starts its timer.
    fn prepare(&mut self, segment: &Segment, me: usize) -> io::Result<()> {
        let doorbell = self.get(segment, me)?;
        doorbell.empty();
        let number = doorbell.0.wakeups.number();
        let memory = &segment.ring.memory;
        memory.record(me, record::DOORBELL).swap(number);
        let now = Instant::now();
        // A timer that has fired must be started again.
        if self.timer_until.is_none_or(|until| now >= until) {
            self.get(segment, me)?.0.set.start_timer(LOOK_EVERY)?;
            self.timer_until = Some(now + LOOK_EVERY);
        }
        Ok(())
    }
}

/// Waits until the doorbell is rung, in the runtime of blitz-io. Also returns when another
/// runtime polls the wait, which then has to register the doorbell.
#[cfg(feature = "async")]
pub(crate) async fn rung(doorbell: Arc<Watched>) -> io::Result<()> {
    let mut readable = pin!(doorbell.descriptor.readable());
    poll_fn(|context| {
        if doorbell.is_of_another_driver() {
            return Poll::Ready(Ok(()));
        }
        let readable = readable.as_mut().poll(context);
        readable.map_ok(|mut guard| guard.clear_ready())
    })
    .await
}

/// Wakes every participant that awaits this event.
#[cold]
pub(crate) fn ring(segment: &Segment, awaited: Awaited) {
    let memory = &segment.ring.memory;
    for participant in 0..segment.settings.participants() {
        let armed = memory.record(participant, record::ARMED);
        if armed.load(Ordering::Acquire) == awaited as u64 && armed.replace(awaited as u64, 0) {
            #[cfg(feature = "async")]
            if decisions::is_on() && simulated::wake((segment.id(), participant)) {
                continue;
            }
            let number = memory.record(participant, record::DOORBELL);
            let number = number.load(Ordering::Acquire);
            let path = segment.path.as_deref();
            sys::wake(path, FIRST_PARTICIPANT + participant, number);
        }
    }
}

/// Removes the remains of a participant's doorbell. The caller has the participant's lock.
pub(crate) fn remove(segment: &Segment, participant: usize) {
    sys::remove_wakeups(segment.path.as_deref(), FIRST_PARTICIPANT + participant);
}
