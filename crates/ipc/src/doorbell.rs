//! Being woken through a descriptor, for tasks: they cannot sleep on a futex word.
//!
//! A doorbell is a datagram socket with an abstract address (no file stays behind, and the
//! address goes with the process), and a timer, both in one epoll set, which is what a
//! runtime registers. The number of the address stands in the participant's record.
//!
//! * A waiter *arms*: it empties the doorbell, writes to its record for which of the two
//!   events it waits, starts the timer, sets `DOORBELL` in the event count, and looks again.
//! * A notifier that finds `DOORBELL` clears it, goes through the records, and sends a
//!   datagram to each that is armed for the event, which it disarms first.
//!
//! **No wake-up is lost**, as in `event_count.rs`: the record is armed before the flag is set,
//! and the flag before the second look. A notifier that misses the flag has made its change
//! before that look. One that sees it finds the armed record. The doorbell is emptied before
//! the record is armed, so the datagram of a later change is never thrown away.
//!
//! **The dead.** Nobody sends a datagram for a sender that dies. So an armed waiter is woken
//! by its timer, too, and then looks whether the others are alive, like a thread.
//!
//! Anyone on the machine can send datagrams to a doorbell; they make its owner look at the
//! ring, and do no more than that.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[cfg(feature = "async")]
use blitz_aio::Interest;
#[cfg(feature = "async")]
use blitz_driver::AsyncFd;

use crate::endpoint::{Awaited, LOOK_EVERY};
use crate::memory::record;
use crate::segment::Segment;

/// A descriptor that becomes readable when a receiver or sender should be tried again.
///
/// Register it with a runtime, for example in Tokio's `AsyncFd`. It is readable some time
/// after [`Receiver::try_recv_or_arm`](crate::Receiver::try_recv_or_arm) has returned
/// [`RecvError::Empty`](crate::RecvError::Empty), or
/// [`Sender::try_send_or_arm`](crate::Sender::try_send_or_arm)
/// [`SendError::Full`](crate::SendError::Full).
#[derive(Clone, Debug)]
pub struct Doorbell(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    epoll: OwnedFd,
    socket: UnixDatagram,
    timer: OwnedFd,
    /// Of the address.
    number: u64,
}

impl Doorbell {
    pub(crate) fn new() -> io::Result<Self> {
        let (socket, number) = bind()?;
        socket.set_nonblocking(true)?;
        // SAFETY: creates a descriptor.
        let timer = owned(unsafe {
            let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
            libc::timerfd_create(libc::CLOCK_MONOTONIC, flags)
        })?;
        // SAFETY: creates a descriptor.
        let epoll = owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: 0,
        };
        for fd in [socket.as_raw_fd(), timer.as_raw_fd()] {
            // SAFETY: both descriptors are open.
            let added =
                unsafe { libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &mut event) };
            if added != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Self(Arc::new(Parts {
            epoll,
            socket,
            timer,
            number,
        })))
    }

    /// Takes the datagrams out.
    fn empty(&self) {
        /// In one call: a waiter is sent one each time that it arms.
        const MOST: usize = 4;
        // SAFETY: zeroes are empty headers.
        let mut headers: [libc::mmsghdr; MOST] = unsafe { std::mem::zeroed() };
        let socket = self.0.socket.as_raw_fd();
        loop {
            let most = MOST as libc::c_uint;
            // SAFETY: room for so many headers, whose buffers are empty.
            let received = unsafe {
                libc::recvmmsg(socket, headers.as_mut_ptr(), most, 0, std::ptr::null_mut())
            };
            if received < MOST as libc::c_int {
                return;
            }
        }
    }

    /// Also takes back that it has made the doorbell readable.
    fn start_timer(&self, after: Duration) {
        let none = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let value = libc::itimerspec {
            it_interval: none,
            it_value: libc::timespec {
                tv_sec: after.as_secs() as libc::time_t,
                tv_nsec: after.subsec_nanos() as _,
            },
        };
        let fd = self.0.timer.as_raw_fd();
        // SAFETY: a timer and a time.
        unsafe { libc::timerfd_settime(fd, 0, &value, std::ptr::null_mut()) };
    }
}

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.epoll.as_fd()
    }
}

impl AsRawFd for Doorbell {
    fn as_raw_fd(&self) -> RawFd {
        self.0.epoll.as_raw_fd()
    }
}

/// A participant's own doorbell, made when it first awaits something.
#[derive(Debug, Default)]
pub(crate) struct OwnDoorbell {
    doorbell: Option<Doorbell>,
    timer_until: Option<Instant>,
    #[cfg(feature = "async")]
    registered: Option<Arc<AsyncFd<Doorbell>>>,
}

impl OwnDoorbell {
    pub(crate) fn get(&mut self) -> io::Result<&Doorbell> {
        if self.doorbell.is_none() {
            self.doorbell = Some(Doorbell::new()?);
        }
        self.doorbell
            .as_ref()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// The doorbell, registered with the runtime that awaits it first. After an error of
    /// that runtime's driver, [`deregister`](Self::deregister).
    ///
    /// # Panics
    ///
    /// Outside of a runtime, and in one without I/O.
    #[cfg(feature = "async")]
    pub(crate) fn registered(&mut self) -> io::Result<Arc<AsyncFd<Doorbell>>> {
        if let Some(registered) = &self.registered {
            return Ok(registered.clone());
        }
        let doorbell = self.get()?.clone();
        // SAFETY: a doorbell has the same open descriptor for as long as it lives, and the
        // `AsyncFd` owns this one.
        let registered = unsafe { AsyncFd::register_with_interest(doorbell, Interest::READABLE)? };
        Ok(self.registered.insert(Arc::new(registered)).clone())
    }

    /// Lets the next wait register anew.
    #[cfg(feature = "async")]
    pub(crate) fn deregister(&mut self) {
        self.registered = None;
    }

    /// All of arming but the second look.
    pub(crate) fn arm(&mut self, segment: &Segment, me: usize, what: Awaited) -> io::Result<()> {
        let doorbell = self.get()?;
        doorbell.empty();
        let number = doorbell.0.number;
        let memory = &segment.ring.memory;
        memory.record(me, record::DOORBELL).swap(number);
        memory.record(me, record::ARMED).swap(what as u64);
        let now = Instant::now();
        // If the timer has fired, then it is that late.
        if self.timer_until.is_none_or(|until| now >= until) {
            self.get()?.start_timer(LOOK_EVERY);
            self.timer_until = Some(now + LOOK_EVERY);
        }
        let event_count = match what {
            Awaited::Published => segment.ring.published(),
            Awaited::Room => segment.ring.room(),
        };
        event_count.prepare(crate::event_count::DOORBELL);
        Ok(())
    }
}

/// Waits until the doorbell is rung, in our runtime.
#[cfg(feature = "async")]
pub(crate) async fn rung(doorbell: &AsyncFd<Doorbell>) -> io::Result<()> {
    doorbell.readable().await?.clear_ready();
    Ok(())
}

/// Sends a datagram to every participant that awaits `what`.
#[cold]
pub(crate) fn ring(segment: &Segment, what: Awaited) {
    static SOCKET: OnceLock<Option<UnixDatagram>> = OnceLock::new();
    let socket = SOCKET.get_or_init(|| {
        let socket = UnixDatagram::unbound().ok()?;
        socket.set_nonblocking(true).ok().map(|()| socket)
    });
    let Some(socket) = socket else { return };
    let memory = &segment.ring.memory;
    for participant in 0..segment.settings.participants() {
        let armed = memory.record(participant, record::ARMED);
        if armed.load(Ordering::Acquire) == what as u64 && armed.replace(what as u64, 0) {
            let number = memory.record(participant, record::DOORBELL);
            if let Ok(address) = address(number.load(Ordering::Acquire)) {
                // Full: it is readable. Refused: nobody is there any more.
                _ = socket.send_to_addr(&[0], &address);
            }
        }
    }
}

fn address(number: u64) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("blitz-ipc-{number:016x}"))
}

/// A socket at a free address.
fn bind() -> io::Result<(UnixDatagram, u64)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_nanos() as u64);
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let number = now ^ u64::from(std::process::id()).rotate_left(40) ^ count.rotate_left(20);
        match UnixDatagram::bind_addr(&address(number)?) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            other => return other.map(|socket| (socket, number)),
        }
    }
}

fn owned(fd: RawFd) -> io::Result<OwnedFd> {
    match fd {
        0.. => {
            // SAFETY: it has just been made and is nobody else's.
            Ok(unsafe { OwnedFd::from_raw_fd(fd) })
        }
        _ => Err(io::Error::last_os_error()),
    }
}
