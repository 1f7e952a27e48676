//! Operations of the kernel: in the ring of the worker's driver, or on a thread of the pool.
//!
//! On Linux a runtime with I/O has a ring of completions for each worker, if the system
//! permits it. Where there is no ring, where it is full, or where the thread that submitted
//! the operation has ended, the pool carries the operation out: it moves from one to the
//! other as a whole.

use std::io;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};

#[cfg(io_uring)]
use blitz_driver::{current::try_driver, io_uring};
use blitz_runtime::task::spawn_blocking;

use crate::blocking::lost;

/// An operation that the kernel carries out, with everything that it needs.
///
/// # Safety
///
/// Everything that the entry points to must stay valid, and must not be used, while the
/// operation is neither moved nor dropped.
pub(crate) unsafe trait Operation: Sized + Send + 'static {
    type Output: Send + 'static;

    /// Carries out the operation. It blocks.
    fn block(self) -> Self::Output;

    /// Returns the output of an operation that has not been carried out, and will not be.
    fn fail(self, error: io::Error) -> Self::Output;

    /// Returns the entry for the kernel.
    #[cfg(io_uring)]
    fn entry(&mut self) -> io_uring::Entry;

    /// Converts the kernel's result into the output.
    #[cfg(io_uring)]
    fn finish(self, result: io::Result<usize>) -> Self::Output;
}

/// Carries out the operation without blocking the thread.
pub(crate) async fn run<O: Operation>(operation: O) -> O::Output {
    #[cfg(io_uring)]
    let operation = match in_ring(operation).await {
        Ok(output) => return output,
        Err(operation) => operation,
    };
    on_pool(operation).await
}

async fn on_pool<O: Operation>(operation: O) -> O::Output {
    // The operation is not lost if a runtime that ends no longer runs the job.
    let cell = Arc::new(Mutex::new(Some(operation)));
    let take = |cell: &Mutex<Option<O>>| {
        let mut cell = cell.lock().unwrap_or_else(PoisonError::into_inner);
        cell.take().expect("it is taken once")
    };
    let taken = cell.clone();
    match spawn_blocking(move || take(&taken).block()).await {
        Ok(output) => output,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => take(&cell).fail(lost()),
        },
    }
}

#[cfg(io_uring)]
async fn in_ring<O: Operation>(operation: O) -> Result<O::Output, O> {
    let Ok(driver) = try_driver() else {
        return Err(operation);
    };
    match driver.start(InRing(operation)) {
        Ok(in_flight) => in_flight.await.map_err(|operation| operation.0),
        Err(operation) => Err(operation.0),
    }
}

#[cfg(io_uring)]
struct InRing<O>(O);

#[cfg(io_uring)]
impl<O: Operation> io_uring::Finish for InRing<O> {
    type Output = O::Output;

    fn finish(self, result: i32) -> O::Output {
        let error = |_| io::Error::from_raw_os_error(-result);
        self.0.finish(usize::try_from(result).map_err(error))
    }
}

#[cfg(io_uring)]
// SAFETY: the contract of this crate's `Operation` demands the same.
unsafe impl<O: Operation> io_uring::Operation for InRing<O> {
    fn entry(&mut self) -> io_uring::Entry {
        self.0.entry()
    }
}
