//! Several threads may be in `block_on`, and take turns at running the tasks.
//!
//! The thread that has the core runs them. The others wait for their own futures, which the
//! tasks make ready, and for the core (`core_cell.rs`).

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::Poll;

use super::shared::Shared;
use super::task_loop::{Core, Doomed};
use crate::api::common::Common;
use crate::api::enter::{self, MayBlock};
use crate::api::errors::UNHANDLED_PANIC;
use crate::api::pool::Spawner;
use crate::api::timers::Attached;
use crate::kernel::context::{self, Current, Flavor};
use crate::kernel::core_cell::{CoreCell, Waiting};

/// The runtime's part of a current-thread scheduler.
pub(crate) struct CurrentThread {
    pub(super) shared: Arc<Shared>,
    pub(super) cell: CoreCell<Core>,
}

impl CurrentThread {
    pub(crate) fn new(common: Common, pool: Spawner) -> (Self, Arc<Shared>) {
        let shared = Arc::new(Shared::new(common, pool));
        let core = Box::new(Core::new(&shared));
        let this = Self {
            shared: shared.clone(),
            cell: CoreCell::new(core),
        };
        (this, shared)
    }

    /// Blocks until `future` is ready, and runs tasks until then, if no other thread
    /// does. The runtime is the current one already, and the thread does not drive tasks
    /// yet.
    #[track_caller]
    pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        enter::drive(&self.shared.base.common.seeds, false, |may_block| {
            if let Some(turn) = self.take_turn() {
                return turn.block_on(future);
            }
            let waiting = self.cell.announce();
            loop {
                if let Some(turn) = self.take_turn() {
                    drop(waiting);
                    return turn.block_on(future);
                }
                if let Some(output) = wait(may_block, &waiting, future.as_mut()) {
                    return output;
                }
            }
        })
    }

    fn take_turn(&self) -> Option<Turn<'_>> {
        let core = self.cell.take()?;
        let scheduler = Current {
            flavor: Flavor::CurrentThread,
            shared: Arc::as_ptr(&self.shared).cast(),
        };
        let worker = core.as_ptr().cast_const().cast();
        let wheels = self.shared.base.common.time.as_ref();
        Some(Turn {
            scheduler: self,
            worker: Some(context::with(|context| {
                context.set_worker(scheduler, worker)
            })),
            timers: wheels.map(|wheels| wheels.attach(0)),
            core,
        })
    }

    /// Ends all tasks, and the timers.
    pub(crate) fn shut_down(&mut self) {
        let Some(turn) = self.take_turn() else {
            unreachable!("no thread can be in `block_on` any more");
        };
        turn.core().shut_down(&self.shared);
        if let Some(wheels) = &self.shared.base.common.time {
            wheels.shutdown();
        }
        self.shared.base.common.shut_down_io();
    }
}

/// Waits for the core, or until `future` is ready.
#[cold]
fn wait<F: Future>(
    may_block: &mut MayBlock,
    waiting: &Waiting<'_, Core>,
    mut future: Pin<&mut F>,
) -> Option<F::Output> {
    let mut turn = pin!(waiting.turn());
    may_block.block_on(poll_fn(|context| {
        if turn.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        future.as_mut().poll(context).map(Some)
    }))
}

/// A thread's turn at running the tasks, until it is dropped.
struct Turn<'a> {
    scheduler: &'a CurrentThread,
    /// Removes the core from the context. Dropped before the core is put back.
    worker: Option<context::WorkerGuard>,
    /// Detaches the timers from the thread when it is dropped.
    timers: Option<Attached>,
    core: NonNull<Core>,
}

impl Turn<'_> {
    fn core(&self) -> &Core {
        // SAFETY: the thread that has the turn has the core, and only shared references are
        // made of it.
        unsafe { self.core.as_ref() }
    }

    #[track_caller]
    fn block_on<F: Future>(&self, future: Pin<&mut F>) -> F::Output {
        let shared = &self.scheduler.shared;
        self.core().is_run_by(context::thread_id(), shared);
        match self.core().block_on(shared, future) {
            Ok(output) => output,
            Err(Doomed) => {
                self.core().shut_down(shared);
                std::panic::panic_any(UNHANDLED_PANIC);
            }
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        drop(self.timers.take());
        drop(self.worker.take());
        self.scheduler.cell.put_back(self.core);
    }
}

impl fmt::Debug for CurrentThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CurrentThread").finish()
    }
}
