//! Operations of the kernel: in the ring of the worker's driver, or on a thread of the pool.
//!
//! On Linux the drivers of a runtime with I/O have rings of completions, if the system
//! permits them. The pool carries an operation out where there is no ring, where the ring
//! is full, or where the kernel gives the operation up. The operation moves from the ring
//! to the pool as a whole.
//!
//! # On which threads
//!
//! In a multi-thread runtime, an operation goes to the ring of the worker that the caller
//! runs on. Other threads poll that worker's driver while the worker is busy, so the
//! operation makes progress and can be awaited from anywhere.
//!
//! No thread polls the driver of a current-thread runtime between two calls of `block_on`.
//! There, and on threads that are no workers, the pool carries the operation out.

use std::io;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};

#[cfg(io_uring)]
use blitz_io_driver::{Driver, io_uring};
use blitz_io_observe::About;
#[cfg(io_uring)]
use blitz_io_runtime::internals::own_driver;

use crate::blocking::{lost, spawn, spawn_sync};

/// An operation that a thread can carry out.
pub(crate) trait Blocking: Sized + Send + 'static {
    type Output: Send + 'static;

    /// `true` if the operation is a sync.
    const IS_SYNC: bool = false;

    /// Describes the operation for reports of waits.
    fn about(&self) -> About;

    /// Carries out the operation. It blocks.
    fn block(self) -> Self::Output;

    /// Returns the output of an operation that has not been carried out, and will not be.
    fn fail(self, error: io::Error) -> Self::Output;
}

/// An operation that a thread and, where there are rings, a ring can carry out.
#[cfg(io_uring)]
pub(crate) trait Operation:
    Blocking + io_uring::Operation<Output = <Self as Blocking>::Output>
{
}

#[cfg(io_uring)]
impl<O> Operation for O where O: Blocking + io_uring::Operation<Output = <O as Blocking>::Output> {}

#[cfg(not(io_uring))]
pub(crate) use Blocking as Operation;

/// Carries out the operation without blocking the thread.
pub(crate) async fn run<O: Operation>(operation: O) -> <O as Blocking>::Output {
    #[cfg(io_uring)]
    let operation = match in_ring(operation).await {
        Ok(output) => return output,
        Err(operation) => operation,
    };
    on_pool(operation).await
}

/// Carries out the operation on a thread of the pool.
pub(crate) async fn on_pool<O: Blocking>(operation: O) -> O::Output {
    let about = operation.about();
    // The operation is not lost if a runtime that ends no longer runs the job.
    let cell = Arc::new(Mutex::new(Some(operation)));
    let take = |cell: &Mutex<Option<O>>| {
        let mut cell = cell.lock().unwrap_or_else(PoisonError::into_inner);
        cell.take().expect("it is taken once")
    };
    let taken = cell.clone();
    let block = move || take(&taken).block();
    let job = if O::IS_SYNC {
        spawn_sync(about, block)
    } else {
        spawn(about, block)
    };
    match job.await {
        Ok(output) => output,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => take(&cell).fail(lost()),
        },
    }
}

/// Returns the driver in whose ring this thread may start operations on files, if there is
/// one; see the module documentation.
#[cfg(io_uring)]
pub(crate) fn driver_with_ring() -> Option<Arc<Driver>> {
    own_driver().filter(|driver| driver.has_ring())
}

#[cfg(io_uring)]
async fn in_ring<O: Operation>(operation: O) -> Result<<O as Blocking>::Output, O> {
    match driver_with_ring() {
        Some(driver) => driver.start(operation)?.await,
        None => Err(operation),
    }
}
