//! An operation that is under way in a ring.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use blitz_io_core::coop;
use blitz_io_observe::{Caller, Descriptor, Kind, Wait, WaitKind};
use io_uring::squeue::Entry;

use crate::kernel::completion::{Finish, Shared};
use crate::kernel::driver::Driver;

/// An operation that a ring can carry out.
///
/// # Safety
///
/// Everything that the entry points to must stay valid, and must not be used, while the
/// operation is neither moved nor dropped. For memory on the heap this must hold also
/// when the operation is moved.
pub unsafe trait Operation: Finish {
    /// `true` if dropping the future cancels the operation. Otherwise the operation
    /// continues, and is finished even though no task waits for it.
    const ENDS_WITH_FUTURE: bool = true;

    /// Returns the entry for the kernel. Called once.
    fn entry(&mut self) -> Entry;

    /// Returns what reports of waits say: the kind, and the descriptor. Without one, its waits have no
    /// records.
    fn target(&self) -> (Kind, Descriptor) {
        (Kind::FileRead, Descriptor::NONE)
    }
}

impl Driver {
    /// Starts an operation in the ring.
    ///
    /// # Errors
    ///
    /// Returns the operation itself if it must be done another way: there is no ring, the
    /// ring is full, or the driver has been shut down.
    pub fn start<O: Operation>(self: &Arc<Self>, operation: O) -> Result<InFlight<O>, O> {
        if !self.has_ring() {
            return Err(operation);
        }
        let mut shared = Shared::new(operation);
        let operation = Shared::operation(&mut shared);
        let entry = operation.entry();
        let (kind, descriptor) = operation.target();
        let lent = Shared::lend(&shared);
        if !self
            .ring
            .push(entry.user_data(lent.expose_provenance() as u64))
        {
            // SAFETY: the address is that of the whole, from `lend`, and was not used.
            drop(unsafe { Arc::from_raw(lent.cast::<Shared<O>>()) });
            return Err(Shared::into_operation(shared));
        }
        self.queued();
        Ok(InFlight {
            record: Wait::new(Caller::UNKNOWN),
            kind: WaitKind::new(kind),
            descriptor,
            shared,
            driver: self.clone(),
        })
    }
}

/// Returns `true` if this is the kernel's result for an operation that it has not carried out
/// and that is to be done another way.
///
/// * `ECANCELED`, `EINTR`: the thread that submitted it has ended. A request to cancel gives
///   the same results, but then no future waits.
/// * `EAGAIN`: the kernel would have to wait, and the file is in non-blocking mode. Before
///   Linux 6.5 this happens with regular files, too, whose mode the system's calls ignore.
#[must_use]
pub fn is_given_up(result: i32) -> bool {
    matches!(-result, libc::ECANCELED | libc::EINTR | libc::EAGAIN)
}

/// Converts the kernel's result: a non-negative number or a negated error.
///
/// # Errors
///
/// Returns that error.
pub fn to_result(result: i32) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result))
}

/// An operation that is under way. Returns its output, or the operation itself if the
/// kernel has [given it up](is_given_up).
///
/// If it is dropped, the operation is cancelled, unless it
/// [continues](Operation::ENDS_WITH_FUTURE); it keeps its buffer until the kernel has
/// released it.
#[must_use = "an operation that is dropped is cancelled"]
pub struct InFlight<O: Operation> {
    /// Dropped before the operation, which keeps the descriptor open.
    record: Wait,
    kind: WaitKind,
    descriptor: Descriptor,
    shared: Arc<Shared<O>>,
    driver: Arc<Driver>,
}

impl<O: Operation> Future for InFlight<O> {
    type Output = Result<O::Output, O>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let coop = ready!(coop::poll_proceed(context));
        let this = &mut *self;
        let Some((operation, result)) = this.shared.poll(context.waker()) else {
            let (kind, descriptor) = (this.kind, this.descriptor);
            this.record.begin_ready(kind, descriptor, context.waker());
            return Poll::Pending;
        };
        this.record.end();
        coop.made_progress();
        if is_given_up(result) {
            return Poll::Ready(Err(operation));
        }
        Poll::Ready(Ok(operation.finish(result)))
    }
}

impl<O: Operation> Drop for InFlight<O> {
    fn drop(&mut self) {
        if !O::ENDS_WITH_FUTURE || self.shared.is_done() {
            return;
        }
        let lent = Shared::lend_to_cancel(&self.shared);
        if self.driver.ring.cancel(lent) {
            self.driver.queued_to_cancel();
        } else {
            // SAFETY: the address is that of the whole, from `lend`, and was not used.
            drop(unsafe { Arc::from_raw(lent.cast::<Shared<O>>()) });
        }
    }
}

impl<O: Operation> fmt::Debug for InFlight<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlight").finish_non_exhaustive()
    }
}
