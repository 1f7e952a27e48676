//! Which runtime is the current one on a thread, and whether the thread drives tasks.
//!
//! The thread's context has the current runtime as an address. There are two kinds
//! of guards that set it. One that the user has ([`SetCurrent`], in an `EnterGuard`)
//! may be kept, leaked or dropped at the wrong time, so it owns a reference to the
//! runtime. One that lives in a function of this crate ([`Scope`]) borrows, which saves two
//! read-modify-writes for each `block_on`.
//!
//! Guards that are dropped in the reverse order each restore the runtime that they
//! replaced. A guard that is dropped at the wrong time panics, as Tokio's, and changes
//! nothing. Other guards may have replaced its runtime, and will restore it: so the guard
//! leaks a reference to it, and the address stays valid. The same holds for a guard that
//! is dropped while a closure looks at the current runtime by reference.

use std::cell::Cell;
use std::future::Future;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Wake, Waker};

use blitz_io_core::{OnDrop, Parker, Spin, coop, deadline, fibers};

use crate::api::common::RuntimeRef;
use crate::api::errors::{NESTED, OUT_OF_ORDER};
use crate::api::seed::Seeds;
use crate::api::tokio_handle;
use crate::kernel::context::{self, Context, Current, Entered};

/// Marks a type that must not be sent to, nor shared with, another thread.
type OfThisThread = PhantomData<*mut ()>;

/// A change of the current runtime, to be undone.
struct Change {
    before: Current,
    depth: usize,
    _here: OfThisThread,
}

impl Change {
    #[inline]
    fn make(current: Current) -> Self {
        context::with(|context| {
            let depth = context.depth.get();
            assert!(depth != usize::MAX, "reached max `enter` depth");
            context.depth.set(depth + 1);
            Self {
                before: context.current.replace(current),
                depth: depth + 1,
                _here: PhantomData,
            }
        })
    }

    /// Undoes the change. `false` if it was not the last one.
    #[inline]
    fn undo(&self, context: &Context) -> bool {
        let last = context.depth.get() == self.depth;
        if last {
            context.current.set(self.before);
            context.depth.set(self.depth - 1);
        }
        last
    }
}

#[cold]
fn complain() {
    if !std::thread::panicking() {
        std::panic::panic_any(OUT_OF_ORDER);
    }
}

/// Makes a runtime the current one until it is dropped, and keeps it alive.
#[must_use]
pub(crate) struct SetCurrent<R: RuntimeRef> {
    runtime: ManuallyDrop<R>,
    change: Change,
}

// SAFETY: through a shared reference to the guard nothing can be done with it.
unsafe impl<R: RuntimeRef> Sync for SetCurrent<R> {}

/// Makes `runtime` the current one until the guard is dropped.
pub(crate) fn set_current<R: RuntimeRef>(runtime: &R) -> SetCurrent<R> {
    SetCurrent {
        runtime: ManuallyDrop::new(runtime.clone()),
        change: Change::make(runtime.as_current()),
    }
}

impl<R: RuntimeRef> Drop for SetCurrent<R> {
    fn drop(&mut self) {
        let (in_order, looked_at) = context::with(|context| {
            let in_order = self.change.undo(context);
            (in_order, context.looking.get() > 0)
        });
        if in_order && !looked_at {
            // SAFETY: this is the only place that drops it, and it comes once. The
            // context does not have the address any more, and no closure has got it from
            // there, as `looked_at` says: the module documentation has the proof.
            unsafe { ManuallyDrop::drop(&mut self.runtime) };
        }
        if !in_order {
            complain();
        }
    }
}

/// Makes a runtime the current one within a function.
struct Scope<'a, R: RuntimeRef> {
    runtime: &'a R,
    change: Change,
    _tokio: tokio_handle::Entered<'a>,
}

impl<'a, R: RuntimeRef> Scope<'a, R> {
    /// It must not be leaked: the address it leaves in the context is only borrowed.
    fn new(runtime: &'a R) -> Self {
        Self {
            runtime,
            change: Change::make(runtime.as_current()),
            _tokio: tokio_handle::enter(runtime.common()),
        }
    }
}

impl<R: RuntimeRef> Drop for Scope<'_, R> {
    fn drop(&mut self) {
        if !context::with(|context| self.change.undo(context)) {
            std::mem::forget(self.runtime.clone());
            complain();
        }
    }
}

/// Runs `run` with `runtime` as the current one.
pub(crate) fn with_entered<T>(runtime: &impl RuntimeRef, run: impl FnOnce() -> T) -> T {
    let _scope = Scope::new(runtime);
    run()
}

/// Runs `run` with the thread marked as one that drives tasks, and with `runtime` as
/// the current one.
///
/// # Panics
///
/// When the thread is marked already.
#[track_caller]
pub(crate) fn enter_runtime<T>(
    runtime: &impl RuntimeRef,
    allow_block_in_place: bool,
    run: impl FnOnce(&mut MayBlock) -> T,
) -> T {
    assert_not_nested();
    with_entered(runtime, || {
        drive(&runtime.common().seeds, allow_block_in_place, run)
    })
}

/// Runs `run` with the thread marked as one that drives tasks of the current runtime, whose
/// `seeds` these are. The caller has seen to it that it is not [nested](assert_not_nested).
#[inline]
pub(crate) fn drive<T>(
    seeds: &Seeds,
    allow_block_in_place: bool,
    run: impl FnOnce(&mut MayBlock) -> T,
) -> T {
    debug_assert!(!is_entered());
    let random = context::with(|context| {
        context.entered.set(Entered::Yes {
            allow_block_in_place,
        });
        let seeded = seeds.next();
        seeded.map(|random| context.random.replace(random))
    });
    let _driving = OnDrop(|| {
        context::with(|context| {
            context.entered.set(Entered::No);
            if let Some(random) = random {
                context.random.set(random);
            }
        });
    });
    // Fibers end before the thread stops driving: their destructors may need the runtime.
    fibers::extent(|| run(&mut MayBlock(PhantomData)))
}

/// Panics, where the caller is, if the thread drives tasks or blocks for a future.
#[track_caller]
pub(crate) fn assert_not_nested() {
    if is_entered() {
        // As `panic!` with a literal does: the payload is a `&str`.
        std::panic::panic_any(NESTED);
    }
}

/// Returns `true` if the thread drives tasks or blocks for a future.
pub(crate) fn is_entered() -> bool {
    context::with(|context| context.entered.get() != Entered::No)
}

/// The right to block the thread.
#[must_use]
pub(crate) struct MayBlock(OfThisThread);

/// Returns the right to block the thread, if it does not drive tasks.
pub(crate) fn try_enter_blocking_region() -> Option<MayBlock> {
    (!is_entered()).then_some(MayBlock(PhantomData))
}

/// Runs `run` with the thread not marked as one that drives tasks: another thread drives
/// them now.
pub(crate) fn exit_runtime<R>(run: impl FnOnce() -> R) -> R {
    let was = context::with(|context| context.entered.replace(Entered::No));
    debug_assert!(was != Entered::No, "the thread drove nothing");
    let _restore = OnDrop(|| {
        let now = context::with(|context| context.entered.replace(was));
        debug_assert!(now == Entered::No, "still blocking for a future");
    });
    run()
}

/// Forbids `block_in_place` on this thread until the guard is dropped.
pub(crate) fn disallow_block_in_place() -> OnDrop<impl FnMut()> {
    let changed = context::with(|context| set_allowed(context, true, false));
    OnDrop(move || {
        if changed {
            context::with(|context| set_allowed(context, false, true));
        }
    })
}

/// Changes whether `block_in_place` is allowed, if it is as it `was`.
fn set_allowed(context: &Context, was: bool, is: bool) -> bool {
    let allowed = |allow_block_in_place| Entered::Yes {
        allow_block_in_place,
    };
    let changes = context.entered.get() == allowed(was);
    if changes {
        context.entered.set(allowed(is));
    }
    changes
}

thread_local! {
    static CACHED: Cell<Option<CachedParker>> = const { Cell::new(None) };
}

/// The parker of a thread that blocks for a future. It is cached, so that blocking
/// allocates nothing from the second time on. A thread takes it out of its storage while
/// it is in use. So a future that blocks again (in `block_in_place`) gets a parker of its
/// own, and cannot take the outer one's tokens.
struct CachedParker {
    parker: Arc<Unpark>,
    waker: Waker,
}

/// The parker and its waker in one. A `thread::Parker` would leave a record of its own beside that of
/// `block_on`.
struct Unpark(Parker);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

impl CachedParker {
    fn take() -> Self {
        let kept = CACHED.try_with(Cell::take);
        kept.ok().flatten().unwrap_or_else(Self::new)
    }

    #[cold]
    fn new() -> Self {
        let parker = Arc::new(Unpark(Parker::new()));
        let waker = Waker::from(parker.clone());
        Self { parker, waker }
    }

    fn park(&self) {
        let Unpark(parker) = &*self.parker;
        if !parker.take() && !deadline::spin_until(Spin::EVENT, None, || parker.take()) {
            parker.park(None);
        }
    }

    /// Keeps it for the next time. Wake-ups that are under way then cost that one a poll.
    fn keep(self) {
        // After the thread's storage is destroyed, the parker is dropped.
        let _ = CACHED.try_with(|cached| cached.set(Some(self)));
    }
}

impl MayBlock {
    /// Blocks the thread until `future` is ready.
    pub(crate) fn block_on<F: Future>(&mut self, future: F) -> F::Output {
        block_for_a_moment(future)
    }
}

/// Blocks the thread until `future` is ready, though it may be polling a task. For short
/// waits: another thread is completing the future already.
pub(crate) fn block_for_a_moment<F: Future>(future: F) -> F::Output {
    fibers::extent(|| block_in_extent(pin!(future)))
}

fn block_in_extent<F: Future>(mut future: Pin<&mut F>) -> F::Output {
    let parker = CachedParker::take();
    let mut context = TaskContext::from_waker(&parker.waker);
    let output = loop {
        if let Poll::Ready(output) = coop::budget(|| future.as_mut().poll(&mut context)) {
            break output;
        }
        parker.park();
    };
    parker.keep();
    output
}
