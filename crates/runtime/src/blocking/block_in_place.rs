//! `task::block_in_place`.

use blitz_sync::internals::coop;

use crate::context::{self, Entered};
use crate::enter;
use crate::scheduler::multi_thread;

const REFUSED: &str = "can call blocking only when running on the multi-threaded runtime";

/// Runs a closure that blocks, on this thread.
///
/// Before that, the worker whose thread this is hands its place over to another thread,
/// so that the runtime's other tasks go on. The rest of *this* task does not: what it
/// joins or selects from waits until the closure returns. Where that is a problem, use
/// [`spawn_blocking`](super::spawn_blocking).
///
/// The closure may itself call [`Handle::block_on`](crate::runtime::Handle::block_on).
/// Outside of a runtime it is simply called. It can not be aborted.
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
    let Entered::Yes {
        allow_block_in_place,
    } = context::with(|context| context.entered.get())
    else {
        // The thread drives nothing: it is none of a runtime's, or has handed over.
        return f();
    };
    // Taken back last, so that the thread drives tasks again by then.
    let handed_over = multi_thread::hand_over();
    assert!(handed_over.is_some() || allow_block_in_place, "{REFUSED}");
    coop::unconstrained(|| enter::exit_runtime(f))
}
