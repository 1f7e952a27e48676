//! The pipe of a driver, through which the handlers of signals wake its listeners.
//!
//! A handler of a signal may do little. It sets a flag and writes a byte into the pipe of each
//! driver that has listeners for its signal, however many they are. The read end is registered
//! with the driver, and the waker there is that of no task: it empties the pipe and tells the
//! listeners, on the thread that polls the driver. So a signal costs one write, one event and
//! one read for all listeners of a runtime.
//!
//! # No signal is lost
//!
//! 1. A handler sets the flag of its signal, and then writes a byte.
//! 2. If the pipe is full, the write fails, and need not succeed: the pipe has bytes at that
//!    moment. So in both cases a byte is read after the flag was set.
//! 3. A byte in the pipe is an event of the driver, which calls the waker: [`SignalPipe::empty`]
//!    ends only when the driver has found the pipe empty and has the waker.
//! 4. The waker reads, and then takes the flags. So the thread that reads the byte takes the flag,
//!    unless another thread has done so. Both tell the listeners (see `listeners.rs`).
//!
//! Signals that arrive before the flag is taken count as one. A new listener does not receive a
//! signal of before: the flags are taken before it is added.
//!
//! # A forked process
//!
//! It shares its parent's pipes. The handler does nothing in a process that did not install
//! it, and the waker reads nothing there. [`PIPES`] is empty in a new process, so listeners of a
//! runtime there have a pipe of their own.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

use blitz_io_aio::Interest;
use blitz_io_core::{PerProcess, coop, generation};
use blitz_io_driver::{Direction, Driver, PollEvented, current, shut_down_error};
use blitz_io_sync::thread::Mutex;
use mio::unix::pipe;

use super::handlers::{self, Added};
use super::listeners::Listeners;

/// The pipes of this process.
static PIPES: PerProcess<Mutex<Vec<Place>>> = PerProcess::new(Mutex::default);

/// Where to find a pipe: the driver that it is registered with, whose address stays as long as it
/// is referred to, and the pipe.
type Place = (Weak<Driver>, Weak<SignalPipe>);

/// A driver's pipe; see the module documentation.
pub(super) struct SignalPipe {
    receiver: PollEvented<pipe::Receiver>,
    sender: Arc<pipe::Sender>,
    /// The handlers that write to the pipe, each for another signal.
    handlers: Mutex<Vec<Handler>>,
    listeners: Listeners,
    /// Calls [`pass_on`](Self::pass_on).
    waker: Waker,
    /// Tells apart the process that made the pipe from its children.
    generation: u32,
}

// Foreign code runs while no lock is held and no invariant broken.
impl UnwindSafe for SignalPipe {}
impl RefUnwindSafe for SignalPipe {}

/// The handler of a signal that has listeners.
struct Handler {
    signal: libc::c_int,
    /// The signal has come since the listeners were last told.
    is_raised: Arc<AtomicBool>,
    action: Added,
    /// The number of listeners.
    users: usize,
}

impl SignalPipe {
    /// Returns the pipe of the current driver.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and an error if the driver has been shut down.
    ///
    /// # Panics
    ///
    /// Panics where there is no driver.
    #[track_caller]
    pub(super) fn current() -> io::Result<Arc<Self>> {
        let driver = current::driver();
        let mut pipes = PIPES.lock();
        pipes.retain(|(_, pipe)| pipe.strong_count() != 0);
        let known = pipes
            .iter()
            .find(|(of, _)| std::ptr::eq(of.as_ptr(), &raw const *driver));
        if let Some(pipe) = known.and_then(|(_, pipe)| pipe.upgrade()) {
            drop(pipes);
            return if pipe.listeners.have_ended() {
                Err(shut_down_error())
            } else {
                Ok(pipe)
            };
        }
        let (sender, receiver) = pipe::new()?;
        let receiver = PollEvented::without_records(receiver, Interest::READABLE)?;
        let pipe = Arc::new_cyclic(|pipe: &Weak<Self>| Self {
            receiver,
            sender: Arc::new(sender),
            handlers: Mutex::default(),
            listeners: Listeners::new(),
            waker: Waker::from(Arc::new(PassOn(pipe.clone()))),
            generation: generation(),
        });
        let registered_with = pipe.receiver.registration().driver();
        pipes.push((Arc::downgrade(registered_with), Arc::downgrade(&pipe)));
        drop(pipes);
        pipe.pass_on();
        Ok(pipe)
    }

    /// Adds a listener for a signal, which is positive and not forbidden, and returns its number.
    pub(super) fn listen(&self, signal: libc::c_int) -> io::Result<u64> {
        // Earlier signals are not for this listener.
        self.tell();
        let mut handlers = self.handlers.lock();
        match handlers.iter_mut().find(|handler| handler.signal == signal) {
            Some(handler) => handler.users += 1,
            None => handlers.push(self.handle(signal)?),
        }
        Ok(self.listeners.add(signal.unsigned_abs()))
    }

    /// Removes a listener for a signal, and with the last one the handler.
    pub(super) fn forget(&self, signal: libc::c_int, number: u64) {
        self.listeners.remove(number);
        let mut handlers = self.handlers.lock();
        let at = handlers.iter().position(|it| it.signal == signal);
        let at = at.expect("it is there until the last listener has gone");
        handlers[at].users -= 1;
        if handlers[at].users == 0 {
            handlers::remove(handlers.swap_remove(at).action);
        }
    }

    /// Installs a handler for a signal, with one user.
    fn handle(&self, signal: libc::c_int) -> io::Result<Handler> {
        let is_raised = Arc::new(AtomicBool::new(false));
        let (raised, sender) = (is_raised.clone(), self.sender.clone());
        // SAFETY: the call has no requirements.
        let process = unsafe { libc::getpid() };
        let action = move || {
            // SAFETY: the call has no requirements, and a handler may make it.
            if unsafe { libc::getpid() } == process {
                raised.store(true, Ordering::SeqCst);
                // One system call that does not block.
                drop((&*sender).write(&[1]));
            }
        };
        // SAFETY: the action makes two system calls that a handler may make, and changes
        // nothing else but an atomic flag and `errno`, which the handler restores.
        let action = unsafe { handlers::add(signal, Arc::new(action)) }?;
        Ok(Handler {
            signal,
            is_raised,
            action,
            users: 1,
        })
    }

    /// Polls for the listener with this number.
    pub(super) fn poll(&self, number: u64, waker: &Waker) -> Poll<Option<()>> {
        self.listeners.poll(number, waker)
    }

    /// Empties the pipe, and tells the listeners of the signals that have come.
    fn pass_on(&self) {
        if generation() != self.generation {
            return;
        }
        // This is no task that could be polled again for want of budget.
        let is_open = coop::unconstrained(|| self.empty());
        self.tell();
        if is_open.is_err() {
            self.listeners.end();
        }
    }

    /// Reads all bytes. When it returns `Ok`, the driver has the waker.
    ///
    /// # Errors
    ///
    /// Returns an error if the driver has been shut down.
    fn empty(&self) -> io::Result<()> {
        let mut bytes = [0; 64];
        let mut context = Context::from_waker(&self.waker);
        loop {
            match self.receiver.try_read(&mut bytes) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let registration = self.receiver.registration();
                    match registration.poll_ready(&mut context, Direction::Read) {
                        Poll::Ready(event) => _ = event?,
                        Poll::Pending => return Ok(()),
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes the flags, and tells the listeners of those signals.
    fn tell(&self) {
        let mut raised = Vec::new();
        for handler in &*self.handlers.lock() {
            if handler.is_raised.swap(false, Ordering::SeqCst) {
                raised.push(handler.signal.unsigned_abs());
            }
        }
        if !raised.is_empty() {
            self.listeners.notify(|signal| raised.contains(&signal));
        }
    }
}

impl fmt::Debug for SignalPipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SignalPipe").field(&self.receiver).finish()
    }
}

/// The waker of a pipe's registration. It does not keep the pipe alive, which has the registration.
struct PassOn(Weak<SignalPipe>);

impl Wake for PassOn {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(pipe) = self.0.upgrade() {
            pipe.pass_on();
        }
    }
}
