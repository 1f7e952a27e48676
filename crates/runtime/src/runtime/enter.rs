//! Which runtime is the current one on a thread, and whether the thread drives tasks.
//!
//! The thread's context has the current runtime as an address. There are two kinds
//! of guards that set it. One that the user has ([`SetCurrent`], in an `EnterGuard`)
//! may be kept, leaked or dropped at the wrong time, so it owns a reference to the
//! runtime. One that lives in a function of ours ([`Scope`]) borrows, which saves two
//! read-modify-writes for each `block_on`.
//!
//! Guards that are dropped in the reverse order each put back what they found. One that
//! is dropped at the wrong time panics, as Tokio's, and changes nothing. Others may
//! have found its runtime, and will put it back: so it gives a reference to it away for
//! good, and the address stays valid. The same goes for one that is dropped while
//! somebody looks at the current runtime by reference.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use super::TryCurrentError;
use super::errors::{NESTED, OUT_OF_ORDER};
use crate::context::{self, Context, Current, Entered, Flavor};
use crate::scheduler::{self, current_thread, multi_thread};
use blitz_sync::internals::Random;

/// Not to be sent to, nor shared with, another thread.
type OfThisThread = PhantomData<*mut ()>;

/// A change of the current runtime that is to be taken back.
struct Change {
    before: Current,
    depth: usize,
}

impl Change {
    #[inline]
    fn make(context: &Context, current: Current) -> Self {
        let depth = context.depth.get();
        assert!(depth != usize::MAX, "reached max `enter` depth");
        context.depth.set(depth + 1);
        Self {
            before: context.current.replace(current),
            depth: depth + 1,
        }
    }

    /// Whether it was the last change, and could be taken back.
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
pub(crate) struct SetCurrent {
    handle: ManuallyDrop<scheduler::Handle>,
    change: Change,
    _here: OfThisThread,
}

// SAFETY: through a shared reference to the guard nothing can be done with it.
unsafe impl Sync for SetCurrent {}

/// Makes `handle` the current runtime until the guard is dropped.
pub(crate) fn set_current(handle: &scheduler::Handle) -> SetCurrent {
    let handle = ManuallyDrop::new(handle.clone());
    let change = context::with(|context| Change::make(context, as_current(&handle)));
    SetCurrent {
        handle,
        change,
        _here: PhantomData,
    }
}

impl Drop for SetCurrent {
    fn drop(&mut self) {
        let (in_order, looked_at) = context::with(|context| {
            let in_order = self.change.undo(context);
            (in_order, context.looking.get() > 0)
        });
        if in_order && !looked_at {
            // SAFETY: this is the only place that drops it, and it comes once. The
            // context does not have the address any more, and nobody has got it from
            // there: see the head of this file.
            unsafe { ManuallyDrop::drop(&mut self.handle) };
        }
        if !in_order {
            complain();
        }
    }
}

/// Makes a runtime the current one within a function.
struct Scope<'a> {
    handle: &'a scheduler::Handle,
    change: Change,
    _here: OfThisThread,
}

impl<'a> Scope<'a> {
    /// It must not be leaked: the address it leaves in the context is only borrowed.
    fn new(handle: &'a scheduler::Handle) -> Self {
        Self {
            handle,
            change: context::with(|context| Change::make(context, as_current(handle))),
            _here: PhantomData,
        }
    }
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        if !context::with(|context| self.change.undo(context)) {
            std::mem::forget(self.handle.clone());
            complain();
        }
    }
}

/// Runs `run` with `handle` as the current runtime.
pub(crate) fn with_entered<R>(handle: &scheduler::Handle, run: impl FnOnce() -> R) -> R {
    let _scope = Scope::new(handle);
    run()
}

fn as_current(handle: &scheduler::Handle) -> Current {
    let flavor = match handle {
        scheduler::Handle::CurrentThread(_) => Flavor::CurrentThread,
        scheduler::Handle::MultiThread(_) => Flavor::MultiThread,
    };
    Current {
        flavor,
        shared: handle.address(),
    }
}

/// Gives the current runtime's scheduler to `with`, without counting a reference.
#[inline]
pub(crate) fn with_current<R>(
    with: impl FnOnce(&scheduler::Handle) -> R,
) -> Result<R, TryCurrentError> {
    context::with(|context| {
        let Some(handle) = borrowed(context.current.get()) else {
            return Err(TryCurrentError::no_context());
        };
        let _look = Look::begin(context);
        Ok(with(&handle))
    })
}

/// The handle that `current` is the address of. It does not count as a reference.
#[inline]
fn borrowed(current: Current) -> Option<ManuallyDrop<scheduler::Handle>> {
    let shared = current.shared;
    let handle = match current.flavor {
        Flavor::Absent => return None,
        Flavor::CurrentThread => {
            let shared = shared.cast::<current_thread::Shared>();
            // SAFETY: the address came from such an `Arc` (`as_current`), and whoever
            // put it into the context keeps that alive. It is never dropped here, so
            // the count stays right.
            scheduler::Handle::CurrentThread(unsafe { Arc::from_raw(shared) })
        }
        Flavor::MultiThread => {
            let shared = shared.cast::<multi_thread::Shared>();
            // SAFETY: as above.
            scheduler::Handle::MultiThread(unsafe { Arc::from_raw(shared) })
        }
    };
    Some(ManuallyDrop::new(handle))
}

/// Somebody looks at the current runtime by reference.
struct Look<'a>(&'a Context);

impl<'a> Look<'a> {
    #[inline]
    fn begin(context: &'a Context) -> Self {
        context.looking.set(context.looking.get() + 1);
        Self(context)
    }
}

impl Drop for Look<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.looking.set(self.0.looking.get() - 1);
    }
}

/// The thread drives tasks, or blocks for a future, until it is dropped.
struct Driving {
    random: Option<Random>,
}

impl Driving {
    fn begin(context: &Context, handle: &scheduler::Handle, allow_block_in_place: bool) -> Self {
        context.entered.set(Entered::Yes {
            allow_block_in_place,
        });
        let seeded = handle.common().seeds.next();
        Self {
            random: seeded.map(|random| context.random.replace(random)),
        }
    }
}

impl Drop for Driving {
    fn drop(&mut self) {
        context::with(|context| {
            context.entered.set(Entered::No);
            if let Some(random) = self.random {
                context.random.set(random);
            }
        });
    }
}

/// Runs `run` with the thread marked as one that drives tasks, and with `handle` as
/// the current runtime.
///
/// # Panics
///
/// When the thread is marked already.
#[track_caller]
pub(crate) fn enter_runtime<R>(
    handle: &scheduler::Handle,
    allow_block_in_place: bool,
    run: impl FnOnce(&mut MayBlock) -> R,
) -> R {
    assert_not_nested();
    let _scope = Scope::new(handle);
    drive(handle, allow_block_in_place, run)
}

/// Runs `run` with the thread marked as one that drives tasks of `handle`, which is the
/// current runtime already. Whoever calls it has seen to it that it is not
/// [nested](assert_not_nested).
#[inline]
pub(crate) fn drive<R>(
    handle: &scheduler::Handle,
    allow_block_in_place: bool,
    run: impl FnOnce(&mut MayBlock) -> R,
) -> R {
    debug_assert!(!is_entered());
    let _driving = context::with(|context| Driving::begin(context, handle, allow_block_in_place));
    run(&mut MayBlock { _here: PhantomData })
}

/// Panics, where the caller is, if the thread drives tasks or blocks for a future.
#[track_caller]
pub(super) fn assert_not_nested() {
    if is_entered() {
        // As `panic!` with a literal does: what is caught is a `&str`.
        std::panic::panic_any(NESTED);
    }
}

/// Whether the thread drives tasks or blocks for a future.
pub(crate) fn is_entered() -> bool {
    context::with(|context| context.entered.get() != Entered::No)
}

/// The right to block the thread.
#[must_use]
pub(crate) struct MayBlock {
    _here: OfThisThread,
}

/// The right to block the thread, if it does not drive tasks.
pub(crate) fn try_enter_blocking_region() -> Option<MayBlock> {
    (!is_entered()).then_some(MayBlock { _here: PhantomData })
}

/// Runs `run` with the thread not marked as one that drives tasks: what it drove has
/// been handed over to another thread.
pub(crate) fn exit_runtime<R>(run: impl FnOnce() -> R) -> R {
    struct Restore(Entered);
    impl Drop for Restore {
        fn drop(&mut self) {
            let now = context::with(|context| context.entered.replace(self.0));
            debug_assert!(now == Entered::No, "still blocking for a future");
        }
    }

    let was = context::with(|context| context.entered.replace(Entered::No));
    debug_assert!(was != Entered::No, "the thread drove nothing");
    let _restore = Restore(was);
    run()
}

/// Until it is dropped, `block_in_place` is not allowed: see
/// [`disallow_block_in_place`].
#[must_use]
pub(crate) struct NoBlockInPlace {
    changed: bool,
    _here: OfThisThread,
}

/// Forbids `block_in_place` on this thread until the guard is dropped.
pub(crate) fn disallow_block_in_place() -> NoBlockInPlace {
    let changed = context::with(|context| set_allowed(context, true, false));
    NoBlockInPlace {
        changed,
        _here: PhantomData,
    }
}

impl Drop for NoBlockInPlace {
    fn drop(&mut self) {
        if self.changed {
            context::with(|context| set_allowed(context, false, true));
        }
    }
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
