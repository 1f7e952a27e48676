//! Several threads may be in `block_on`, and take turns at running the tasks.
//!
//! Who has the core runs them. The others wait for their own futures, which the tasks
//! make ready, and for the core: who puts it back hands a permit of a `Notify` to one
//! who waits, if somebody does.
//!
//! No one waits for a core that is in its place: who waits says so first (`waiting`), and
//! then tries once more to take it; who puts it back looks after that whether somebody
//! waits. All four are sequentially consistent, so one of the two sees the other. A
//! permit that was meant for one who has got the core meanwhile, or whose future has
//! become ready, stays with the `Notify`, or goes on to the next who waits; at worst
//! somebody looks in vain.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::task::Poll;

use blitz_futex::atomic::{AtomicPtr, AtomicUsize, Ordering};
use blitz_sync::task::Notify;

use super::core::{Core, Doomed};
use super::shared::Shared;
use crate::common::Common;
use crate::context;
use crate::runtime::enter::{self, MayBlock};
use crate::runtime::errors::UNHANDLED_PANIC;
use crate::scheduler;
use crate::time::Attached;

/// The runtime's part of a current-thread scheduler: who has it may run the tasks.
pub(crate) struct CurrentThread {
    shared: Arc<Shared>,
    /// Null while a thread has it.
    core: AtomicPtr<Core>,
    turn: Notify,
    /// How many threads wait for the core, or are about to.
    waiting: AtomicUsize,
}

impl CurrentThread {
    pub(crate) fn new(common: Common) -> (Self, Arc<Shared>) {
        let shared = Arc::new(Shared::new(common));
        let core = Box::new(Core::new(&shared));
        let this = Self {
            shared: shared.clone(),
            core: AtomicPtr::new(Box::into_raw(core)),
            turn: Notify::new(),
            waiting: AtomicUsize::new(0),
        };
        (this, shared)
    }

    /// Blocks until `future` is ready, and runs tasks meanwhile, if no other thread does.
    /// The runtime is the current one already, and the thread does not drive tasks yet.
    #[track_caller]
    pub(crate) fn block_on<F: Future>(&self, handle: &scheduler::Handle, future: F) -> F::Output {
        let mut future = pin!(future);
        enter::drive(handle, false, |may_block| {
            if let Some(turn) = self.take_turn() {
                return turn.block_on(future);
            }
            let waiting = Waiting::begin(&self.waiting);
            loop {
                if let Some(turn) = self.take_turn() {
                    drop(waiting);
                    return turn.block_on(future);
                }
                if let Some(output) = self.wait(may_block, future.as_mut()) {
                    return output;
                }
            }
        })
    }

    /// Waits for the core, or until `future` is ready.
    #[cold]
    fn wait<F: Future>(
        &self,
        may_block: &mut MayBlock,
        mut future: Pin<&mut F>,
    ) -> Option<F::Output> {
        let mut notified = pin!(self.turn.notified());
        may_block.block_on(poll_fn(|context| {
            if notified.as_mut().poll(context).is_ready() {
                return Poll::Ready(None);
            }
            future.as_mut().poll(context).map(Some)
        }))
    }

    fn take_turn(&self) -> Option<Turn<'_>> {
        let core = NonNull::new(self.core.swap(ptr::null_mut(), Ordering::SeqCst))?;
        let address = Arc::as_ptr(&self.shared).cast();
        let worker = core.as_ptr().cast_const().cast();
        let wheels = self.shared.common().time.as_ref();
        Some(Turn {
            scheduler: self,
            worker: Some(context::with(|context| context.set_worker(address, worker))),
            timers: wheels.map(|wheels| wheels.attach(0)),
            core,
        })
    }

    /// Ends all tasks, and the timers.
    pub(crate) fn shut_down(&mut self) {
        let Some(turn) = self.take_turn() else {
            unreachable!("nobody can be in `block_on` any more");
        };
        turn.core().shut_down(&self.shared);
        if let Some(wheels) = &self.shared.common().time {
            wheels.shutdown();
        }
    }
}

/// A thread that waits for the core, until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    #[cold]
    fn begin(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::SeqCst);
        Self(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for CurrentThread {
    fn drop(&mut self) {
        let core = *self.core.get_mut();
        if !core.is_null() {
            // SAFETY: the pointer is a box's, and nobody else has it.
            drop(unsafe { Box::from_raw(core) });
        }
    }
}

/// A thread's turn at running the tasks, until it is dropped.
struct Turn<'a> {
    scheduler: &'a CurrentThread,
    /// Takes the core out of the context. Before the core is put back.
    worker: Option<context::WorkerGuard>,
    /// The same for the timers.
    timers: Option<Attached>,
    core: NonNull<Core>,
}

impl Turn<'_> {
    fn core(&self) -> &Core {
        // SAFETY: whoever has the turn has the core, and only shared references are
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
                panic!("{UNHANDLED_PANIC}");
            }
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        drop(self.timers.take());
        drop(self.worker.take());
        let core = self.core.as_ptr();
        self.scheduler.core.swap(core, Ordering::SeqCst);
        if self.scheduler.waiting.load(Ordering::SeqCst) != 0 {
            self.scheduler.turn.notify_one();
        }
    }
}

impl fmt::Debug for CurrentThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CurrentThread").finish()
    }
}
