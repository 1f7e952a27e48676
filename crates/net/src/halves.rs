//! A stream that two halves own: the part that TCP and Unix streams share.

use std::io;
use std::net::Shutdown;
use std::ops::Deref;
use std::sync::Arc;

/// A connection whose directions can be shut down.
pub(crate) trait Connection {
    fn shutdown(&self, how: Shutdown) -> io::Result<()>;

    /// Tells the peer that nothing more will be written. A connection that the peer has
    /// already closed needs no shutdown.
    fn shutdown_write(&self) -> io::Result<()> {
        match self.shutdown(Shutdown::Write) {
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            result => result,
        }
    }
}

/// The write half's reference to a stream. Dropping it shuts down the direction.
#[derive(Debug)]
pub(crate) struct WriteRef<S: Connection> {
    stream: Arc<S>,
    shutdown_on_drop: bool,
}

impl<S: Connection> WriteRef<S> {
    /// Drops the reference without shutting down the direction.
    pub(crate) fn forget(mut self) {
        self.shutdown_on_drop = false;
    }
}

impl<S: Connection> Deref for WriteRef<S> {
    type Target = S;

    #[inline]
    fn deref(&self) -> &S {
        &self.stream
    }
}

impl<S: Connection> Drop for WriteRef<S> {
    fn drop(&mut self) {
        if self.shutdown_on_drop {
            // An error here could not be handled.
            _ = self.stream.shutdown_write();
        }
    }
}

/// Returns the references of the two halves.
pub(crate) fn split<S: Connection>(stream: S) -> (Arc<S>, WriteRef<S>) {
    let stream = Arc::new(stream);
    let write = WriteRef {
        stream: stream.clone(),
        shutdown_on_drop: true,
    };
    (stream, write)
}

/// Returns the stream, or both references if they belong to different streams.
pub(crate) fn reunite<S: Connection>(
    read: Arc<S>,
    write: WriteRef<S>,
) -> Result<S, (Arc<S>, WriteRef<S>)> {
    if !Arc::ptr_eq(&read, &write.stream) {
        return Err((read, write));
    }
    write.forget();
    Ok(Arc::into_inner(read).expect("there are two halves of one stream"))
}
