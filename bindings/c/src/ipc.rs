//! Messages between processes: routes, channels and queues in shared memory.
//!
//! A loan and a received message borrow their end, and C keeps them between two calls. So an end
//! is on the heap, and its borrower beside it in [`Held`], which never hands the end out while
//! there is a borrower.

use std::ffi::{c_char, c_int, c_void};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use blitz_io::ipc::{
    self, Builder, Doorbell, Error, Kind, Loan, Message, Receiver, RecvError, SendError,
    SendOptions, Sender, WaitError, WhenFull,
};

use crate::args::{arg, bytes, bytes_mut, check, os_text, put, put_if_wanted, text};
use crate::error::{
    BLITZ_EBUSY, BLITZ_ECLOSED, BLITZ_ECORRUPT, BLITZ_EEMPTY, BLITZ_EFORKED, BLITZ_EFULL,
    BLITZ_EINVAL, BLITZ_ELAGGED, BLITZ_EMISMATCH, BLITZ_ESIZE, BLITZ_ETIMEDOUT, BLITZ_EUNSUPPORTED,
    Outcome, entry, entry_or, invalid, of_io, record,
};
use crate::exclusive::Exclusive;
use crate::fork::{self, OfProcess, Process};
use crate::handle::handle;
use crate::settings::{read, settings};
use crate::time::BLITZ_NEVER;
use crate::wait::{self, Limit, is_fiber};

/// One sender; every receiver gets every message.
pub const BLITZ_IPC_ROUTE: u32 = 0;
/// Many senders; every receiver gets every message, all in one order.
pub const BLITZ_IPC_CHANNEL: u32 = 1;
/// Many senders; each message goes to one receiver.
pub const BLITZ_IPC_QUEUE: u32 = 2;

/// A sender waits while the ring is full, for the slowest receiver that is alive.
pub const BLITZ_IPC_BLOCK: u32 = 0;
/// A sender overwrites the oldest message; a receiver that missed some gets `BLITZ_ELAGGED`.
pub const BLITZ_IPC_DROP_OLDEST: u32 = 1;
/// A sender gets `BLITZ_EFULL`.
pub const BLITZ_IPC_FAIL: u32 = 2;

/// Settings of a segment of shared memory. Initialise them with `BLITZ_IPC_SETTINGS_INIT`, or with zeros
/// and `size`, and change the fields that need another value. The participant that makes the segment
/// decides; others pass the same settings, or 0 to take the existing one.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct blitz_ipc_settings {
    /// The size of this structure, `sizeof(blitz_ipc_settings)`.
    pub size: usize,
    /// `BLITZ_IPC_ROUTE`, `BLITZ_IPC_CHANNEL` or `BLITZ_IPC_QUEUE`.
    pub kind: u32,
    /// `BLITZ_IPC_BLOCK`, `BLITZ_IPC_DROP_OLDEST` or `BLITZ_IPC_FAIL`.
    pub when_full: u32,
    /// The number of messages that the ring holds, rounded up to a power of two. 0: 1,024.
    pub capacity: usize,
    /// The most bytes of a message. 0: 1,008.
    pub max_len: usize,
    /// The most senders at once. 0: 64 (a route has one).
    pub max_senders: usize,
    /// The most receivers at once. 0: 64.
    pub max_receivers: usize,
    /// The permissions of the segment's file. 0: 0600, the user alone.
    pub mode: u32,
    /// If true, a new receiver also gets the messages that are in the ring already.
    pub with_history: bool,
    /// If true, joining fails if there is no segment.
    pub must_exist: bool,
    /// The directory of the segment's file. NULL: one of the user. It is copied.
    pub directory: *const c_char,
    /// Must be 0.
    pub reserved: [u64; 4],
}

settings!(blitz_ipc_settings);

/// An end on the heap, and its borrower.
struct Held<E: 'static, B: 'static> {
    /// Dropped before the end.
    borrower: Option<B>,
    end: NonNull<E>,
}

// SAFETY: `Held` owns both, as a pair of values would.
unsafe impl<E: Send, B> Send for Held<E, B> {}

impl<E, B> Held<E, B> {
    fn new(end: E) -> Self {
        Self {
            borrower: None,
            end: NonNull::from(Box::leak(Box::new(end))),
        }
    }

    /// Returns the end, or `BLITZ_EBUSY` while it is borrowed.
    fn end(&mut self) -> Outcome<&mut E> {
        if self.borrower.is_some() {
            return Err(BLITZ_EBUSY);
        }
        // SAFETY: the end is on the heap as long as `self` lives, and has no other borrower.
        Ok(unsafe { self.end.as_mut() })
    }

    /// Creates a borrower that keeps the end.
    fn lend(&mut self, borrow: impl FnOnce(&'static mut E) -> Outcome<B>) -> Outcome<&mut B> {
        self.end()?;
        // SAFETY: the end has no other borrower. `drop` drops the borrower before the end, and
        // `end` returns no reference while there is a borrower.
        let end = unsafe { self.end.as_mut() };
        let borrower = borrow(end)?;
        Ok(self.borrower.insert(borrower))
    }
}

impl<E, B> Drop for Held<E, B> {
    fn drop(&mut self) {
        self.borrower = None;
        // SAFETY: the end comes from a box, and its borrower was dropped.
        drop(unsafe { Box::from_raw(self.end.as_ptr()) });
    }
}

/// The sending end of a segment. Any thread or fiber may use it; a second call at the same time,
/// and a call between a loan and its end, return `BLITZ_EBUSY`.
pub struct blitz_ipc_sender {
    held: Exclusive<Held<Sender, Loan<'static>>>,
    doorbell: Exclusive<Option<Doorbell>>,
    process: Process,
}

impl OfProcess for blitz_ipc_sender {
    fn process(&self) -> Process {
        self.process
    }
}

/// The receiving end of a segment. Any thread or fiber may use it; a second call at the same time,
/// and a call while a message is held, return `BLITZ_EBUSY`.
pub struct blitz_ipc_receiver {
    held: Exclusive<Held<Receiver, Message<'static>>>,
    doorbell: Exclusive<Option<Doorbell>>,
    process: Process,
}

impl OfProcess for blitz_ipc_receiver {
    fn process(&self) -> Process {
        self.process
    }
}

fn builder(settings: *const blitz_ipc_settings) -> Outcome<Builder> {
    let settings = read(settings)?;
    let mut builder = match settings.kind {
        BLITZ_IPC_ROUTE => ipc::Route::builder(),
        BLITZ_IPC_CHANNEL => ipc::Channel::builder(),
        BLITZ_IPC_QUEUE => ipc::Queue::builder(),
        _ => return Err(invalid("no such kind of a segment")),
    };
    match settings.when_full {
        // 0 is no request, so any policy of an existing segment is fine.
        BLITZ_IPC_BLOCK => {}
        BLITZ_IPC_DROP_OLDEST => builder = builder.when_full(WhenFull::DropOldest),
        BLITZ_IPC_FAIL => builder = builder.when_full(WhenFull::Fail),
        _ => return Err(invalid("no such policy for a full ring")),
    }
    if settings.capacity > 0 {
        builder = builder.capacity(settings.capacity);
    }
    if settings.max_len > 0 {
        builder = builder.max_len(settings.max_len);
    }
    if settings.max_senders > 0 {
        builder = builder.max_senders(settings.max_senders);
    }
    if settings.max_receivers > 0 {
        builder = builder.max_receivers(settings.max_receivers);
    }
    if settings.mode > 0 {
        builder = builder.mode(settings.mode);
    }
    if !settings.directory.is_null() {
        builder = builder.directory(PathBuf::from(os_text(settings.directory)?));
    }
    Ok(builder
        .with_history(settings.with_history)
        .must_exist(settings.must_exist))
}

#[cold]
fn of_error(error: &Error) -> c_int {
    let number = match error {
        Error::Unsupported => BLITZ_EUNSUPPORTED,
        Error::Name { .. } | Error::Setting { .. } => BLITZ_EINVAL,
        Error::Mismatch { .. } | Error::Foreign { .. } | Error::Elsewhere { .. } => BLITZ_EMISMATCH,
        Error::Directory { .. } | Error::Untrusted { .. } | Error::Permission { .. } => {
            -libc::EACCES
        }
        Error::NoSpace { .. } => -libc::ENOSPC,
        Error::NotFound { .. } => -libc::ENOENT,
        Error::Occupied {
            role: "sender",
            kind: Kind::Route,
            ..
        } => {
            let call = "settings.kind = BLITZ_IPC_CHANNEL for blitz_ipc_sender_open";
            return record(BLITZ_EFULL, format_args!("{error}: {call}"));
        }
        Error::Occupied { .. } => BLITZ_EFULL,
        Error::Busy => BLITZ_EBUSY,
        Error::Forked => BLITZ_EFORKED,
        Error::Io { source, .. } => of_io(source),
        _ => -libc::EIO,
    };
    record(number, error)
}

#[cold]
fn of_send(error: SendError) -> c_int {
    match error {
        SendError::Full => BLITZ_EFULL,
        SendError::TimedOut => BLITZ_ETIMEDOUT,
        SendError::TooLong { .. } => record(BLITZ_ESIZE, error),
        SendError::Forked => record(BLITZ_EFORKED, error),
        SendError::Corrupt => record(BLITZ_ECORRUPT, error),
        SendError::Io(error) => of_io(&error.into()),
        _ => record(-libc::EIO, error),
    }
}

#[cold]
fn of_recv(error: RecvError) -> c_int {
    match error {
        RecvError::Empty => BLITZ_EEMPTY,
        RecvError::TimedOut => BLITZ_ETIMEDOUT,
        RecvError::Disconnected => BLITZ_ECLOSED,
        RecvError::Lagged(_) => record(BLITZ_ELAGGED, error),
        RecvError::TooShort { .. } | RecvError::WrongLength { .. } => record(BLITZ_ESIZE, error),
        RecvError::Forked => record(BLITZ_EFORKED, error),
        RecvError::Corrupt => record(BLITZ_ECORRUPT, error),
        RecvError::Io(error) => of_io(&error.into()),
        _ => record(-libc::EIO, error),
    }
}

#[cold]
fn of_wait(error: WaitError) -> c_int {
    match error {
        WaitError::TimedOut => BLITZ_ETIMEDOUT,
        WaitError::Forked => record(BLITZ_EFORKED, error),
        WaitError::Corrupt => record(BLITZ_ECORRUPT, error),
        WaitError::Io(error) => of_io(&error.into()),
        _ => record(-libc::EIO, error),
    }
}

/// Joins the segment `name` as a sender, and makes it if there is none. Processes that use the same
/// name of the same user share a segment.
///
/// The caller frees it with `blitz_ipc_sender_free`. Returns `BLITZ_OK`; `BLITZ_EINVAL` for NULL, or
/// a name or setting that is not allowed; or an error of the system. Returns `BLITZ_EMISMATCH` if the
/// segment has other settings, `BLITZ_EFULL` if it has as many senders as it allows: a route has one,
/// whose process `blitz_last_error` names. Returns `BLITZ_EBUSY` if another process has not finished
/// joining, or `BLITZ_EUNSUPPORTED`. Does not wait.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_sender_open(
    name: *const c_char,
    settings: *const blitz_ipc_settings,
    sender: *mut *mut blitz_ipc_sender,
) -> c_int {
    entry(|| {
        check(sender)?;
        let opened = builder(settings)?
            .sender(text(name)?)
            .map_err(|error| of_error(&error))?;
        let held = Exclusive::new(Held::new(opened));
        put(
            sender,
            handle(blitz_ipc_sender {
                held,
                doorbell: Exclusive::new(None),
                process: Process::current(),
            }),
        )
    })
}

/// Joins the segment `name` as a receiver, and makes it if there is none.
///
/// The caller frees it with `blitz_ipc_receiver_free`. Returns what `blitz_ipc_sender_open` returns.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_receiver_open(
    name: *const c_char,
    settings: *const blitz_ipc_settings,
    receiver: *mut *mut blitz_ipc_receiver,
) -> c_int {
    entry(|| {
        check(receiver)?;
        let opened = builder(settings)?
            .receiver(text(name)?)
            .map_err(|error| of_error(&error))?;
        put(receiver, new_receiver(opened))
    })
}

/// Joins the segment `name` of a route or channel as a receiver for which no sender waits: it gets
/// `BLITZ_ELAGGED` if it is too slow.
///
/// The caller frees it with `blitz_ipc_receiver_free`. Returns what `blitz_ipc_sender_open` returns.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_observer_open(
    name: *const c_char,
    settings: *const blitz_ipc_settings,
    receiver: *mut *mut blitz_ipc_receiver,
) -> c_int {
    entry(|| {
        check(receiver)?;
        let opened = builder(settings)?
            .observer(text(name)?)
            .map_err(|error| of_error(&error))?;
        put(receiver, new_receiver(opened))
    })
}

fn new_receiver(receiver: Receiver) -> *mut blitz_ipc_receiver {
    let held = Exclusive::new(Held::new(receiver));
    handle(blitz_ipc_receiver {
        held,
        doorbell: Exclusive::new(None),
        process: Process::current(),
    })
}

/// Sends a message of `len` bytes. Suspends the calling fiber, or blocks the calling thread, while
/// the ring is full (with `BLITZ_IPC_BLOCK`).
///
/// Messages that no receiver has taken are lost when the last participant frees its end.
///
/// Returns `BLITZ_OK`; `BLITZ_EFULL` with `BLITZ_IPC_FAIL`; `BLITZ_ESIZE` if the message is too
/// long; `BLITZ_ECANCELED`; `BLITZ_EBUSY`; `BLITZ_EINVAL` for NULL; `BLITZ_EFORKED`;
/// `BLITZ_ECORRUPT`; or an error of the system. After an error nothing was sent.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_send(
    sender: *mut blitz_ipc_sender,
    message: *const c_void,
    len: usize,
) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { blitz_ipc_send_until(sender, message, len, BLITZ_NEVER) }
}

/// Sends as `blitz_ipc_send` does, but waits until `deadline_ns` at most (nanoseconds of
/// `blitz_now_ns`).
///
/// Returns what `blitz_ipc_send` returns, or `BLITZ_ETIMEDOUT`.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_send_until(
    sender: *mut blitz_ipc_sender,
    message: *const c_void,
    len: usize,
    deadline_ns: u64,
) -> c_int {
    entry(|| {
        let mut held = arg(sender)?.held.enter()?;
        let sender = held.end()?;
        let message = bytes(message.cast(), len)?;
        if is_fiber() {
            return match sender.try_send(message) {
                Err(SendError::Full) => {
                    wait::on(sender.send_async(message), Limit::at(deadline_ns))?.map_err(of_send)
                }
                result => result.map_err(of_send),
            };
        }
        match Limit::at(deadline_ns) {
            Limit::Never => sender.send(message),
            Limit::At(deadline) => sender
                .with(SendOptions::new().deadline(deadline))
                .send(message),
        }
        .map_err(of_send)
    })
}

/// Sends a message if there is room. Does not wait.
///
/// Returns what `blitz_ipc_send` returns, or `BLITZ_EFULL`.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_try_send(
    sender: *mut blitz_ipc_sender,
    message: *const c_void,
    len: usize,
) -> c_int {
    entry(|| {
        let mut held = arg(sender)?.held.enter()?;
        held.end()?
            .try_send(bytes(message.cast(), len)?)
            .map_err(of_send)
    })
}

/// Waits until the receivers of a queue have released every message that was sent before this call, by
/// any sender, until `deadline_ns` at most (nanoseconds of `blitz_now_ns`, or `BLITZ_NEVER`). If there is
/// no receiver, waits for one. Suspends the calling fiber, or blocks the calling thread. A sender that
/// may be the last participant calls this before it is freed: the messages that are left are lost then.
///
/// Returns `BLITZ_OK`; `BLITZ_ETIMEDOUT` if messages are left; `BLITZ_EINVAL` for NULL, or in a route or
/// channel; `BLITZ_ECANCELED`; `BLITZ_EBUSY`; `BLITZ_EFORKED`; `BLITZ_ECORRUPT`; or an error of the
/// system.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_drained(
    sender: *mut blitz_ipc_sender,
    deadline_ns: u64,
) -> c_int {
    entry(|| {
        let mut held = arg(sender)?.held.enter()?;
        let sender = held.end()?;
        if sender.kind() != ipc::Kind::Queue {
            return Err(invalid("only a queue is drained"));
        }
        let limit = Limit::at(deadline_ns);
        let drained = if is_fiber() {
            wait::on(sender.drained_async(), limit)?
        } else {
            match limit {
                Limit::Never => sender.drained(),
                Limit::At(deadline) => sender.drained_deadline(deadline),
            }
        };
        drained.map_err(of_wait)
    })
}

/// Borrows room for a message of `len` bytes in shared memory, to write it in place, until
/// `deadline_ns` at most (nanoseconds of `blitz_now_ns`, or `BLITZ_NEVER`; 0 does not wait).
/// Suspends the calling fiber, or blocks the calling thread, while the ring is full.
///
/// `message` gets the room, which holds bytes of an older message. It is valid until
/// `blitz_ipc_loan_send` or `blitz_ipc_loan_drop`, or until the sender is freed. Returns what
/// `blitz_ipc_send_until` returns.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_loan(
    sender: *mut blitz_ipc_sender,
    len: usize,
    deadline_ns: u64,
    message: *mut *mut c_void,
) -> c_int {
    entry(|| {
        check(message)?;
        let mut held = arg(sender)?.held.enter()?;
        let limit = Limit::at(deadline_ns);
        let loan = held.lend(|sender| {
            if is_fiber() {
                return wait::on(sender.loan_async(len), limit)?.map_err(of_send);
            }
            match limit {
                Limit::Never => sender.loan(len),
                Limit::At(deadline) => sender.with(SendOptions::new().deadline(deadline)).loan(len),
            }
            .map_err(of_send)
        })?;
        put(message, loan.as_mut_ptr().cast())
    })
}

/// Sends the first `len` bytes of a loan, and ends the loan. Does not wait.
///
/// Returns `BLITZ_OK`, `BLITZ_EINVAL` for NULL or without a loan, `BLITZ_ESIZE` if the loan is
/// shorter (then it stays valid), `BLITZ_EBUSY`, `BLITZ_EFORKED` or `BLITZ_ECORRUPT`.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_loan_send(sender: *mut blitz_ipc_sender, len: usize) -> c_int {
    entry(|| {
        let mut held = arg(sender)?.held.enter()?;
        if len
            > held
                .borrower
                .as_ref()
                .ok_or_else(|| invalid("nothing is loaned"))?
                .len()
        {
            return Err(BLITZ_ESIZE);
        }
        let Some(mut loan) = held.borrower.take() else {
            return Err(invalid("nothing is loaned"));
        };
        loan.truncate(len);
        loan.send().map_err(of_send)
    })
}

/// Ends a loan without sending. Does not wait.
///
/// Returns `BLITZ_OK`, `BLITZ_EINVAL` for NULL or without a loan, or `BLITZ_EBUSY`.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_loan_drop(sender: *mut blitz_ipc_sender) -> c_int {
    entry(|| {
        let mut held = arg(sender)?.held.enter()?;
        held.borrower
            .take()
            .map(drop)
            .ok_or_else(|| invalid("nothing is borrowed"))
    })
}

/// Receives a message and copies it to `buffer`, which has room for `len` bytes. Suspends the calling
/// fiber, or blocks the calling thread, until there is one.
///
/// `count` gets its number of bytes. Returns `BLITZ_OK`, or `BLITZ_ECLOSED` if there is no message and
/// no sender. That is not the end: a sender may join later, and this receiver then gets its messages.
/// It waits until the first sender has joined; in a queue also one that left before this receiver
/// joined. In a queue `BLITZ_ECLOSED` also means that every message was released.
/// Returns `BLITZ_ESIZE` if the message is longer than `len` (it stays, and `blitz_last_error` has its
/// length), `BLITZ_ELAGGED` if messages were dropped before, `BLITZ_ECANCELED`, `BLITZ_EBUSY`,
/// `BLITZ_EINVAL` for NULL, `BLITZ_EFORKED`, `BLITZ_ECORRUPT`, or an error of the
/// system.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_recv(
    receiver: *mut blitz_ipc_receiver,
    buffer: *mut c_void,
    len: usize,
    count: *mut usize,
) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { blitz_ipc_recv_until(receiver, buffer, len, BLITZ_NEVER, count) }
}

/// Receives as `blitz_ipc_recv` does, but waits until `deadline_ns` at most (nanoseconds of
/// `blitz_now_ns`).
///
/// Returns what `blitz_ipc_recv` returns, or `BLITZ_ETIMEDOUT`.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_recv_until(
    receiver: *mut blitz_ipc_receiver,
    buffer: *mut c_void,
    len: usize,
    deadline_ns: u64,
    count: *mut usize,
) -> c_int {
    entry(|| {
        check(count)?;
        let mut held = arg(receiver)?.held.enter()?;
        let receiver = held.end()?;
        let buffer = bytes_mut(buffer.cast(), len)?;
        let n = if is_fiber() {
            wait::on(receiver.recv_into_async(buffer), Limit::at(deadline_ns))?
        } else {
            match Limit::at(deadline_ns) {
                Limit::Never => receiver.recv_into(buffer),
                Limit::At(deadline) => receiver.recv_into_deadline(buffer, deadline),
            }
        };
        put(count, n.map_err(of_recv)?)
    })
}

/// Receives a message if there is one. Does not wait.
///
/// Returns what `blitz_ipc_recv` returns, or `BLITZ_EEMPTY`.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_try_recv(
    receiver: *mut blitz_ipc_receiver,
    buffer: *mut c_void,
    len: usize,
    count: *mut usize,
) -> c_int {
    entry(|| {
        check(count)?;
        let mut held = arg(receiver)?.held.enter()?;
        let received = held.end()?.try_recv_into(bytes_mut(buffer.cast(), len)?);
        put(count, received.map_err(of_recv)?)
    })
}

/// Receives a message and keeps it in shared memory, to read it in place, until `deadline_ns` at most
/// (nanoseconds of `blitz_now_ns`, or `BLITZ_NEVER`; 0 does not wait). Suspends the calling fiber, or
/// blocks the calling thread.
///
/// `message` gets the bytes and `len` their number. They are valid until `blitz_ipc_release`, or
/// until the receiver is freed; senders wait for a receiver that keeps a message. If you do not trust
/// the other processes, use `blitz_ipc_recv`. Returns what `blitz_ipc_recv_until` returns.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_take(
    receiver: *mut blitz_ipc_receiver,
    deadline_ns: u64,
    message: *mut *const c_void,
    len: *mut usize,
) -> c_int {
    entry(|| {
        check(message)?;
        check(len)?;
        let mut held = arg(receiver)?.held.enter()?;
        let limit = Limit::at(deadline_ns);
        let taken = held.lend(|receiver| {
            if is_fiber() {
                return wait::on(receiver.recv_async(), limit)?.map_err(of_recv);
            }
            match limit {
                Limit::Never => receiver.recv(),
                Limit::At(deadline) => receiver.recv_deadline(deadline),
            }
            .map_err(of_recv)
        })?;
        put(message, taken.as_ptr().cast())?;
        put(len, taken.len())
    })
}

/// Gives back a message of `blitz_ipc_take`. Does not wait.
///
/// Returns `BLITZ_OK`, `BLITZ_EINVAL` for NULL or without a message, or `BLITZ_EBUSY`.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_release(receiver: *mut blitz_ipc_receiver) -> c_int {
    entry(|| {
        let mut held = arg(receiver)?.held.enter()?;
        held.borrower
            .take()
            .map(drop)
            .ok_or_else(|| invalid("nothing is borrowed"))
    })
}

/// Gets the doorbell of a receiver: a descriptor that becomes readable after
/// `blitz_ipc_try_recv_or_arm` has returned `BLITZ_EEMPTY`, for an event loop of another library.
/// The receiver keeps it: do not close it, and do not read from it.
///
/// Returns `BLITZ_OK`, `BLITZ_EBUSY`, `BLITZ_EINVAL` for NULL, or an error of the system. Does not
/// wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_receiver_doorbell(
    receiver: *mut blitz_ipc_receiver,
    fd: *mut c_int,
) -> c_int {
    entry(|| {
        check(fd)?;
        let receiver = arg(receiver)?;
        let mut held = receiver.held.enter()?;
        let doorbell = held.end()?.doorbell().map_err(|error| of_io(&error))?;
        put(fd, receiver.doorbell.enter()?.insert(doorbell).as_raw_fd())
    })
}

/// Receives a message if there is one, as `blitz_ipc_try_recv` does. If there is none, the doorbell
/// becomes readable when the caller should try again. It may become readable for no reason.
///
/// Returns what `blitz_ipc_try_recv` returns. Does not wait.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_try_recv_or_arm(
    receiver: *mut blitz_ipc_receiver,
    buffer: *mut c_void,
    len: usize,
    count: *mut usize,
) -> c_int {
    entry(|| {
        check(count)?;
        let mut held = arg(receiver)?.held.enter()?;
        let buffer = bytes_mut(buffer.cast(), len)?;
        let received = held.end()?.try_recv_into_or_arm(buffer);
        put(count, received.map_err(of_recv)?)
    })
}

/// Gets the doorbell of a sender: a descriptor that becomes readable after
/// `blitz_ipc_try_send_or_arm` has returned `BLITZ_EFULL`. The sender keeps it: do not close it, and
/// do not read from it.
///
/// Returns `BLITZ_OK`, `BLITZ_EBUSY`, `BLITZ_EINVAL` for NULL, or an error of the system. Does not
/// wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_sender_doorbell(
    sender: *mut blitz_ipc_sender,
    fd: *mut c_int,
) -> c_int {
    entry(|| {
        check(fd)?;
        let sender = arg(sender)?;
        let mut held = sender.held.enter()?;
        let doorbell = held.end()?.doorbell().map_err(|error| of_io(&error))?;
        put(fd, sender.doorbell.enter()?.insert(doorbell).as_raw_fd())
    })
}

/// Sends a message if there is room, as `blitz_ipc_try_send` does. If there is none, the doorbell
/// becomes readable when the caller should try again. It may become readable for no reason.
///
/// Returns what `blitz_ipc_try_send` returns. Does not wait.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_try_send_or_arm(
    sender: *mut blitz_ipc_sender,
    message: *const c_void,
    len: usize,
) -> c_int {
    entry(|| {
        let mut held = arg(sender)?.held.enter()?;
        held.end()?
            .with(SendOptions::new().arm())
            .send(bytes(message.cast(), len)?)
            .map_err(of_send)
    })
}

/// Returns the most bytes of a message; 0 for NULL or if another call uses the sender. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_max_len(sender: *const blitz_ipc_sender) -> usize {
    entry_or(0, || {
        let held = arg(sender).and_then(|sender| sender.held.enter());
        held.map_or(0, |mut held| {
            held.end().map_or(0, |sender| sender.max_len())
        })
    })
}

/// Leaves a segment and frees the sender. NULL is fine. Ends a loan without sending. No other call
/// may use it, now or later. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_sender_free(sender: *mut blitz_ipc_sender) {
    entry_or((), || fork::free(sender));
}

/// Leaves a segment and frees the receiver. NULL is fine. Gives back a message that it keeps. No
/// other call may use it, now or later. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_receiver_free(receiver: *mut blitz_ipc_receiver) {
    entry_or((), || fork::free(receiver));
}

/// Counts the senders and the receivers of the segment `name` that are alive, those of this process
/// too. `settings` has the kind and the directory. Each count may be NULL, and may be out of date when
/// this returns. Reads the whole directory. Does not wait.
///
/// Returns `BLITZ_OK`, also with two zeros if there is no such segment; `BLITZ_EINVAL` for a NULL
/// name or settings, or an unknown kind; `BLITZ_EUNSUPPORTED`; or an error of the system.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_participants(
    name: *const c_char,
    settings: *const blitz_ipc_settings,
    senders: *mut usize,
    receivers: *mut usize,
) -> c_int {
    entry(|| {
        let name = text(name)?;
        let settings = read(settings)?;
        let kind = match settings.kind {
            BLITZ_IPC_ROUTE => ipc::Kind::Route,
            BLITZ_IPC_CHANNEL => ipc::Kind::Channel,
            BLITZ_IPC_QUEUE => ipc::Kind::Queue,
            _ => return Err(invalid("no such kind of a segment")),
        };
        let segments = if settings.directory.is_null() {
            ipc::list()
        } else {
            ipc::list_in(Path::new(os_text(settings.directory)?))
        }
        .map_err(|error| of_error(&error))?;
        let segment = segments
            .iter()
            .find(|segment| segment.kind == kind && segment.name == name);
        let count = |sends| {
            segment.map_or(0, |segment| {
                let alive = segment.participants.iter().filter(|one| one.alive);
                alive.filter(|one| one.sends == sends).count()
            })
        };
        put_if_wanted(senders, count(true));
        put_if_wanted(receivers, count(false));
        Ok(())
    })
}

/// Removes the segments of this user that no living process uses. `count` gets the number of removed
/// segments; it may be NULL. Does not wait.
///
/// Returns `BLITZ_OK`, `BLITZ_EUNSUPPORTED`, or an error of the system.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_ipc_clean(count: *mut usize) -> c_int {
    entry(|| {
        let removed = ipc::clean().map_err(|error| of_error(&error))?;
        crate::args::put_if_wanted(count, removed.len());
        Ok(())
    })
}
