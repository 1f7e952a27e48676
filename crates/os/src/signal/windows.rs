//! Windows signals: the events that the console sends to the processes attached to it.
//!
//! The system calls the handler on a separate thread, so the handler may take a lock: that of the
//! listeners (see `listeners.rs`).

use std::io;
use std::task::{Context, Poll};

use blitz_io_observe::{Caller, Kind, Wait, WaitKind};
use blitz_io_sync::thread::Mutex;
use windows_sys::Win32::System::Console::{
    CTRL_BREAK_EVENT, CTRL_C_EVENT, CTRL_CLOSE_EVENT, CTRL_LOGOFF_EVENT, CTRL_SHUTDOWN_EVENT,
    SetConsoleCtrlHandler,
};
use windows_sys::core::BOOL;

use super::listeners::Listeners;

static LISTENERS: Listeners = Listeners::new();
/// Tells whether the handler is installed. It is never removed.
static HANDLES: Mutex<bool> = Mutex::new(false);

#[derive(Debug)]
struct Listener {
    number: u64,
    event: u32,
    record: Wait,
}

impl Listener {
    fn new(event: u32, caller: Caller) -> io::Result<Self> {
        let mut handles = HANDLES.lock();
        if !*handles {
            // SAFETY: the handler is a function, which remains valid.
            if unsafe { SetConsoleCtrlHandler(Some(handler), 1) } == 0 {
                return Err(io::Error::last_os_error());
            }
            *handles = true;
        }
        let number = LISTENERS.add(event);
        Ok(Self {
            number,
            event,
            record: Wait::new(caller),
        })
    }

    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        let polled = LISTENERS.poll(self.number, cx.waker());
        if polled.is_pending() {
            let kind = WaitKind::new(Kind::Signal);
            (self.record).begin_with(kind, self.event.into(), cx.waker());
        } else {
            self.record.end();
        }
        polled
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        LISTENERS.remove(self.number);
    }
}

/// Called by the system, on a separate thread. Returns 0 if there are no listeners: then
/// the system does its default action.
unsafe extern "system" fn handler(event: u32) -> BOOL {
    if LISTENERS.notify(|other| other == event) == 0 {
        return 0;
    }
    // The system ends the process when the handler of one of these returns, and at the
    // latest after some time: until then the program may clean up.
    if matches!(
        event,
        CTRL_CLOSE_EVENT | CTRL_LOGOFF_EVENT | CTRL_SHUTDOWN_EVENT
    ) {
        loop {
            std::thread::park();
        }
    }
    1
}

/// A listener for Ctrl-C: see [`ctrl_c`].
#[must_use = "listeners do nothing unless polled"]
#[derive(Debug)]
pub struct CtrlC(Listener);

/// Listens for Ctrl-C.
///
/// It listens from now on, and needs no runtime. Any number of listeners may listen for the
/// same event. Once none is left, the system does its default action again.
///
/// # Errors
///
/// Returns the system's errors.
///
/// # Examples
///
/// ```no_run
/// use blitz_io::signal::windows::ctrl_c;
///
/// # #[blitz_io::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut listener = ctrl_c()?;
/// listener.recv().await;
/// println!("it has come");
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn ctrl_c() -> io::Result<CtrlC> {
    ctrl_c_at(Caller::here())
}

/// Creates the listener, whose waits are at a location of the program.
pub(super) fn ctrl_c_at(caller: Caller) -> io::Result<CtrlC> {
    Listener::new(CTRL_C_EVENT, caller).map(CtrlC)
}

impl CtrlC {
    /// Waits for the next event. Several events since the last call count as one. Never
    /// returns `None`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a future that is dropped before it is ready has taken no event.
    pub async fn recv(&mut self) -> Option<()> {
        std::future::poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Attempts to receive the next event. Only the waker of the last call is woken.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        self.0.poll_recv(cx)
    }
}

/// A listener for Ctrl-Break: see [`ctrl_break`].
#[must_use = "listeners do nothing unless polled"]
#[derive(Debug)]
pub struct CtrlBreak(Listener);

/// Listens for Ctrl-Break.
///
/// It listens from now on, and needs no runtime. Any number of listeners may listen for the
/// same event. Once none is left, the system does its default action again.
///
/// # Errors
///
/// Returns the system's errors.
///
/// # Examples
///
/// ```no_run
/// use blitz_io::signal::windows::ctrl_break;
///
/// # #[blitz_io::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut listener = ctrl_break()?;
/// listener.recv().await;
/// println!("it has come");
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn ctrl_break() -> io::Result<CtrlBreak> {
    Listener::new(CTRL_BREAK_EVENT, Caller::here()).map(CtrlBreak)
}

impl CtrlBreak {
    /// Waits for the next event. Several events since the last call count as one. Never
    /// returns `None`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a future that is dropped before it is ready has taken no event.
    pub async fn recv(&mut self) -> Option<()> {
        std::future::poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Attempts to receive the next event. Only the waker of the last call is woken.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        self.0.poll_recv(cx)
    }
}

/// A listener for the closing of the console window: see [`ctrl_close`].
#[must_use = "listeners do nothing unless polled"]
#[derive(Debug)]
pub struct CtrlClose(Listener);

/// Listens for the closing of the console window.
///
/// The system ends the process some seconds after the event, whatever the program does.
///
/// It listens from now on, and needs no runtime. Any number of listeners may listen for the
/// same event. Once none is left, the system does its default action again.
///
/// # Errors
///
/// Returns the system's errors.
///
/// # Examples
///
/// ```no_run
/// use blitz_io::signal::windows::ctrl_close;
///
/// # #[blitz_io::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut listener = ctrl_close()?;
/// listener.recv().await;
/// println!("it has come");
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn ctrl_close() -> io::Result<CtrlClose> {
    Listener::new(CTRL_CLOSE_EVENT, Caller::here()).map(CtrlClose)
}

impl CtrlClose {
    /// Waits for the next event. Several events since the last call count as one. Never
    /// returns `None`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a future that is dropped before it is ready has taken no event.
    pub async fn recv(&mut self) -> Option<()> {
        std::future::poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Attempts to receive the next event. Only the waker of the last call is woken.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        self.0.poll_recv(cx)
    }
}

/// A listener for the end of a user's session: see [`ctrl_logoff`].
#[must_use = "listeners do nothing unless polled"]
#[derive(Debug)]
pub struct CtrlLogoff(Listener);

/// Listens for the end of a user's session, which is reported only to services.
///
/// The system ends the process some seconds after the event, whatever the program does.
///
/// It listens from now on, and needs no runtime. Any number of listeners may listen for the
/// same event. Once none is left, the system does its default action again.
///
/// # Errors
///
/// Returns the system's errors.
///
/// # Examples
///
/// ```no_run
/// use blitz_io::signal::windows::ctrl_logoff;
///
/// # #[blitz_io::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut listener = ctrl_logoff()?;
/// listener.recv().await;
/// println!("it has come");
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn ctrl_logoff() -> io::Result<CtrlLogoff> {
    Listener::new(CTRL_LOGOFF_EVENT, Caller::here()).map(CtrlLogoff)
}

impl CtrlLogoff {
    /// Waits for the next event. Several events since the last call count as one. Never
    /// returns `None`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a future that is dropped before it is ready has taken no event.
    pub async fn recv(&mut self) -> Option<()> {
        std::future::poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Attempts to receive the next event. Only the waker of the last call is woken.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        self.0.poll_recv(cx)
    }
}

/// A listener for the shutdown of the system: see [`ctrl_shutdown`].
#[must_use = "listeners do nothing unless polled"]
#[derive(Debug)]
pub struct CtrlShutdown(Listener);

/// Listens for the shutdown of the system, which is reported only to services.
///
/// The system ends the process some seconds after the event, whatever the program does.
///
/// It listens from now on, and needs no runtime. Any number of listeners may listen for the
/// same event. Once none is left, the system does its default action again.
///
/// # Errors
///
/// Returns the system's errors.
///
/// # Examples
///
/// ```no_run
/// use blitz_io::signal::windows::ctrl_shutdown;
///
/// # #[blitz_io::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut listener = ctrl_shutdown()?;
/// listener.recv().await;
/// println!("it has come");
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn ctrl_shutdown() -> io::Result<CtrlShutdown> {
    Listener::new(CTRL_SHUTDOWN_EVENT, Caller::here()).map(CtrlShutdown)
}

impl CtrlShutdown {
    /// Waits for the next event. Several events since the last call count as one. Never
    /// returns `None`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a future that is dropped before it is ready has taken no event.
    pub async fn recv(&mut self) -> Option<()> {
        std::future::poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Attempts to receive the next event. Only the waker of the last call is woken.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        self.0.poll_recv(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    use super::*;

    /// Raises an event as the system does, because a test process may have no console that
    /// sends one.
    fn raise(event: u32) -> BOOL {
        // SAFETY: the call has no requirements.
        std::thread::spawn(move || unsafe { handler(event) })
            .join()
            .unwrap()
    }

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn each_listener_is_told_once_and_the_last_one_restores_the_default() {
        let count = Arc::new(Count::default());
        let waker = Waker::from(count.clone());
        let mut cx = Context::from_waker(&waker);
        let woken = || count.0.load(Ordering::Relaxed);
        assert_eq!(raise(CTRL_BREAK_EVENT), 0);

        let (mut one, mut other) = (ctrl_break().unwrap(), ctrl_break().unwrap());
        assert!(pin!(one.recv()).poll(&mut cx).is_pending());
        assert!(one.poll_recv(&mut cx).is_pending());
        assert_eq!(raise(CTRL_BREAK_EVENT), 1);
        assert_eq!(raise(CTRL_BREAK_EVENT), 1);
        assert_eq!(woken(), 1);
        // A dropped future has taken nothing.
        drop(one.recv());
        assert_eq!(one.poll_recv(&mut cx), Poll::Ready(Some(())));
        assert!(one.poll_recv(&mut cx).is_pending());
        assert_eq!(other.poll_recv(&mut cx), Poll::Ready(Some(())));

        drop(one);
        assert_eq!(woken(), 1);
        assert_eq!(raise(CTRL_BREAK_EVENT), 1);
        drop(other);
        assert_eq!(raise(CTRL_BREAK_EVENT), 0);
        assert_eq!(Arc::strong_count(&count), 2);
    }

    #[test]
    fn the_end_of_the_process_waits_for_the_program() {
        let mut close = ctrl_close().unwrap();
        let mut logoff = ctrl_logoff().unwrap();
        let mut shutdown = ctrl_shutdown().unwrap();
        for event in [CTRL_CLOSE_EVENT, CTRL_LOGOFF_EVENT, CTRL_SHUTDOWN_EVENT] {
            // SAFETY: the call has no requirements. It does not return.
            std::thread::spawn(move || unsafe { handler(event) });
        }
        block_on(async {
            close.recv().await.unwrap();
            logoff.recv().await.unwrap();
            shutdown.recv().await.unwrap();
        });
    }

    #[test]
    fn ctrl_c_needs_no_runtime() {
        let mut future = pin!(crate::signal::ctrl_c());
        let mut cx = Context::from_waker(Waker::noop());
        assert!(future.as_mut().poll(&mut cx).is_pending());
        assert_eq!(raise(CTRL_C_EVENT), 1);
        assert!(future.poll(&mut cx).is_ready());
    }

    fn block_on(future: impl Future<Output = ()>) {
        blitz_io_runtime::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
            .block_on(future);
    }
}
