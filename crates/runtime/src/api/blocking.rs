//! Work that blocks its thread: on a thread of the pool, or in place.

use blitz_io_core::coop;
use blitz_io_observe::{About, decisions};

use crate::api::enter;
use crate::api::scheduler::{Handle, multi_thread, with_current};
use crate::api::trace::spawn_meta;
use crate::kernel::context::{self, Entered};
use crate::kernel::task::JoinHandle;

/// Runs a closure on a thread where it may block.
///
/// A future must not block its thread, because other tasks of the thread would wait. A
/// closure that blocks, or computes for long, runs on a separate pool of threads. Threads
/// are started when they are needed, up to
/// [`max_blocking_threads`](crate::runtime::Builder::max_blocking_threads); then closures
/// wait in a queue. An idle thread ends after
/// [`thread_keep_alive`](crate::runtime::Builder::thread_keep_alive).
///
/// A closure that runs cannot be aborted: [`abort`](JoinHandle::abort) only has an effect
/// before it starts. The end of the runtime waits for running closures, unless it has a
/// timeout ([`shutdown_timeout`](crate::runtime::Runtime::shutdown_timeout)).
///
/// # Panics
///
/// Outside of a runtime, or if the system refuses a thread.
///
/// ```
/// # let runtime = blitz_io::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let sum = blitz_io::task::spawn_blocking(|| (1..=100).sum::<u32>());
/// assert_eq!(sum.await.unwrap(), 5050);
/// # });
/// ```
#[track_caller]
pub fn spawn_blocking<F, R>(f: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    spawn_blocking_as(About::closure(None), f)
}

/// Does the same for a closure that reports of waits describe.
///
/// # Panics
///
/// Same as for [`spawn_blocking`].
#[doc(hidden)]
#[track_caller]
pub fn spawn_blocking_as<F, R>(about: About, f: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    spawn_on_pool(about, f, false)
}

/// Runs a closure that usually ends soon, such as an operation on a file, on the pool. A burst of
/// them starts one thread after the other, not all at once.
///
/// # Panics
///
/// Same as for [`spawn_blocking`].
#[doc(hidden)]
#[track_caller]
pub fn spawn_short_blocking<F, R>(about: About, f: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    spawn_on_pool(about, f, true)
}

#[track_caller]
fn spawn_on_pool<F, R>(about: About, f: F, short: bool) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let meta = spawn_meta!(F);
    let spawn = |handle: &Handle| handle.pool().spawn_blocking(handle, f, meta, about, short);
    match with_current(spawn) {
        Ok(join) => join,
        Err(error) => panic!("{error}"),
    }
}

/// Runs a closure on a thread of the pool even if the runtime is shut down before a thread
/// takes it, for writes that have been accepted. `None` if the pool is closed.
#[doc(hidden)]
#[track_caller]
pub fn spawn_mandatory_blocking<F, R>(about: About, f: F) -> Option<JoinHandle<R>>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let spawn = |handle: &Handle| handle.pool().spawn_mandatory(handle, f, about);
    match with_current(spawn) {
        Ok(join) => join,
        Err(error) => panic!("{error}"),
    }
}

/// Begins with Tokio's text.
const REFUSED: &str = "can call blocking only when running on the multi-threaded runtime (`flavor = \"multi_thread\"`)";

/// Runs a closure that may block on this thread.
///
/// Before that, the worker that runs on this thread is handed over to another thread, so
/// that the runtime's other tasks go on. The rest of *this* task does not: the other
/// futures that it joins or selects from wait until the closure returns. Where that is a
/// problem, use [`spawn_blocking`].
///
/// The closure may itself call [`Handle::block_on`](crate::runtime::Handle::block_on).
/// Outside of a runtime it is simply called. It cannot be aborted.
///
/// # Panics
///
/// On a current-thread runtime, and in a [`LocalSet`](crate::task::LocalSet).
///
/// ```
/// use blitz_io::{runtime::Runtime, task};
///
/// let runtime = Runtime::new()?;
/// let task = runtime.spawn(async {
///     task::block_in_place(|| (1..=10).product::<u32>())
/// });
/// assert_eq!(runtime.block_on(task).unwrap(), 3_628_800);
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn block_in_place<F, R>(f: F) -> R
where
    F: FnOnce() -> R,
{
    block_in_place_or(REFUSED, f)
}

/// Does the same as [`block_in_place`]. Panics with the text `refused` where that panics.
#[track_caller]
pub(crate) fn block_in_place_or<F, R>(refused: &str, f: F) -> R
where
    F: FnOnce() -> R,
{
    if decisions::is_on() {
        // A simulation has one thread, and all tasks run on it.
        return f();
    }
    let Entered::Yes {
        allow_block_in_place,
    } = context::with(|context| context.entered.get())
    else {
        // The thread drives no tasks: it belongs to no runtime, or has handed over.
        return f();
    };
    // Dropped last: when it takes the worker back, the thread counts as driving tasks
    // again.
    let handed_over = multi_thread::hand_over();
    assert!(handed_over.is_some() || allow_block_in_place, "{refused}");
    coop::outside_polls(|| enter::exit_runtime(f))
}
