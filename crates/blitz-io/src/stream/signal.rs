//! Signals as streams.

use super::wrapper::wrapper;
#[cfg(unix)]
use crate::signal::unix::Signal;
#[cfg(windows)]
use crate::signal::windows::{CtrlBreak, CtrlC};

#[cfg(unix)]
wrapper! {
    /// A stream with an item for each arrival of a signal.
    ///
    /// # Examples
    ///
    /// With `StreamExt` of the crate `futures-util`:
    ///
    /// ```no_run
    /// use blitz_io::signal::unix::{SignalKind, signal};
    /// use blitz_io::stream::wrappers::SignalStream; // was: tokio_stream::wrappers
    /// use futures_util::StreamExt;
    ///
    /// # blitz_io::runtime::Runtime::new()?.block_on(async {
    /// let mut hangups = SignalStream::new(signal(SignalKind::hangup())?);
    /// hangups.next().await;
    /// println!("reading the configuration again");
    /// # Ok::<(), std::io::Error>(())
    /// # })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    SignalStream, Signal, signal,
    fn(signal, context) -> () { signal.poll_recv(context) }
}

#[cfg(windows)]
wrapper! {
    /// A stream with an item for each Ctrl-C.
    CtrlCStream, CtrlC, interval,
    fn(signal, context) -> () { signal.poll_recv(context) }
}

#[cfg(windows)]
wrapper! {
    /// A stream with an item for each Ctrl-Break.
    CtrlBreakStream, CtrlBreak, interval,
    fn(signal, context) -> () { signal.poll_recv(context) }
}
