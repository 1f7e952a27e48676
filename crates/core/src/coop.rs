//! The cooperative budget: how much a task may do before it lets others run.
//!
//! A task that loops over a channel which always has something would never
//! return to its scheduler. So a scheduler polls a task within [`budget`], and
//! each operation that completes takes one unit of it. When nothing is left,
//! operations do as if they had to wait: the task is woken at once and polled
//! again behind the others. In [`unconstrained`] there is no limit. The semantics are
//! Tokio's.
//!
//! Other runtimes' tasks, and futures that are polled by hand, have no scheduler of ours. There,
//! too, an operation that completes takes a unit. A task is turned away if it uses up [`BUDGET`]
//! units twice, no other task does so in between, and none of its operations had to wait. Then
//! one operation returns `Pending` and wakes the task. So a task that always finds a value lets
//! the other tasks of its thread run, and a timeout around it fires. A waker that does nothing,
//! such as [`Waker::noop`], belongs to no task that would be polled again, so that waker is never
//! turned away.
//!
//! All of it is one number for each thread, without a destructor, so a look at it
//! is a load. Its lower half counts:
//!
//! * `n + 1`: `n` units are left;
//! * [`SPENT`]: nothing is left, and no operation has been turned away for it yet;
//! * [`REFUSED`]: nothing is left, and that has been counted.
//!
//! Its upper half says who grants the units:
//!
//! * [`POLL`]: a poll by one of our schedulers;
//! * [`OUTSIDE`]: a thread outside of those;
//! * [`UNLIMITED`]: there is no limit. Such a budget also counts down and is refilled, which is
//!   cheaper than a branch;
//! * [`UNLIMITED_POLL`]: there is no limit in this part of a poll by one of our schedulers;
//! * [`CAPTURE`]: a capture looks where the operations are, and nothing is left for any of them;
//! * [`SIMULATED`]: a poll of a simulation, which has no limit, but in which each operation is a point: it
//!   asks whether another task runs first;
//! * [`PREEMPTED`]: such a poll, after the answer was yes.
//!
//! # Simulations
//!
//! In a poll of a simulation no unit is ever left, so each operation comes to the cold path, where it asks.
//! Also the first one of a poll does: the code before it may have read what other tasks change, such as an atomic
//! number, which no record shows. If the answer is yes, all operations of the poll are turned away as if the budget
//! were spent, and the task is ready again.
//!
//! An operation asks once, although it may be polled often: when it was turned away, and when it waits. Polled again,
//! it would ask what the scheduler has just decided, and no code has run since. A poll does not know its operations, but their
//! number: the *unfinished* ones, which the poll before has begun and not completed. So many operations of this poll ask
//! nothing, as long as none of them is completed. For this, the count says whether something has happened:
//!
//! * [`SPENT`]: nothing since the poll, or the last operation, has begun;
//! * [`REFUSED`]: an operation has been completed, or one that needs no `await` has been made ([`acted`]).
//!
//! In a task that awaits one future after the other this is exact. If it awaits several at once (`select!`, `join!`), a branch that no
//! operation of ours has woken may run code, and its next operation takes the place of an unfinished one.

use std::cell::Cell;
use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, RawWakerVTable, Waker, ready};

#[cfg(feature = "taskdump")]
use crate::capture;
use crate::scopes;
use blitz_io_observe::decisions;

/// Number of units that a task gets for one poll: Tokio's number.
const BUDGET: u64 = 128;
/// Nothing is left, and that has been counted.
const REFUSED: u64 = 0;
/// Nothing is left.
const SPENT: u64 = 1;

/// The lower half.
const COUNT: u64 = u32::MAX as u64;
/// The units of one poll.
const POLL: u64 = 0;
/// The units after which an operation elsewhere is turned away.
const OUTSIDE: u64 = 1 << 32;
/// There is no limit.
const UNLIMITED: u64 = 2 << 32;
/// Each operation is reported and turned away.
const CAPTURE: u64 = 3 << 32;
/// There is no limit, in a poll by one of our schedulers.
const UNLIMITED_POLL: u64 = 4 << 32;
/// An operation asks the simulation.
const SIMULATED: u64 = 5 << 32;
/// The simulation has preempted the task: each operation is turned away.
const PREEMPTED: u64 = 6 << 32;

/// The initial budget of a thread. All executions of a model must be alike, so a model has no
/// limit.
const AT_FIRST: u64 = if cfg!(loom) { UNLIMITED } else { OUTSIDE };

thread_local! {
    static LEFT: Cell<u64> = const { Cell::new(AT_FIRST | full(AT_FIRST)) };
    static FORCED_YIELDS: Cell<u64> = const { Cell::new(0) };
    /// The waker of the task that has used up the units outside of our schedulers last.
    static USED_UP_BY: Cell<Task> = const { Cell::new((ptr::null(), ptr::null())) };
}

/// Tells wakers, and so tasks, apart.
type Task = (*const (), *const RawWakerVTable);

/// Returns the count with which a budget of this kind begins.
const fn full(kind: u64) -> u64 {
    match kind {
        UNLIMITED | UNLIMITED_POLL => COUNT,
        _ => SPENT + BUDGET,
    }
}

const fn kind(left: u64) -> u64 {
    left & !COUNT
}

/// Returns `true` in a poll by one of our schedulers, with or without a limit, or by a simulation.
const fn is_poll(left: u64) -> bool {
    let kind = kind(left);
    matches!(kind, POLL | UNLIMITED_POLL) || is_simulated(kind)
}

/// Returns `true` if no unit is left.
#[inline(always)]
const fn is_spent(left: u64) -> bool {
    left & COUNT <= SPENT
}

/// A thread's remaining budget, saved outside of the thread-local.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Budget(u64);

impl Budget {
    /// A budget without a limit.
    pub const UNCONSTRAINED: Self = Self(UNLIMITED | full(UNLIMITED));
    /// The budget of one poll of a task.
    pub const FULL: Self = Self(POLL | full(POLL));
    /// A budget without a limit, within a poll of a task.
    const UNCONSTRAINED_POLL: Self = Self(UNLIMITED_POLL | full(UNLIMITED_POLL));
    /// The budget of a poll that is captured.
    #[cfg(feature = "taskdump")]
    const CAPTURE: Self = Self(CAPTURE | SPENT);
    /// The budget of a poll in a simulation.
    const SIMULATED: Self = Self(SIMULATED | SPENT);

    /// Returns the budget of one poll of a task on this thread.
    #[inline(always)]
    fn of_poll() -> Self {
        if decisions::is_on() {
            return Self::SIMULATED;
        }
        Self::FULL
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = (self.0 & COUNT).saturating_sub(SPENT);
        f.debug_tuple("Budget")
            .field(&(kind(self.0) == POLL).then_some(units))
            .finish()
    }
}

/// Gives the unit back that [`poll_proceed`] took when it is dropped, unless
/// [`made_progress`](RestoreOnPending::made_progress) was called: an operation that
/// has to wait costs nothing.
#[must_use]
pub struct RestoreOnPending {
    /// The budget before the operation; `REFUSED` if it is not to be restored.
    before: Cell<u64>,
    /// It is this thread's.
    _not_send: PhantomData<*mut ()>,
}

impl RestoreOnPending {
    #[inline(always)]
    fn new(before: u64) -> Self {
        Self {
            before: Cell::new(before),
            _not_send: PhantomData,
        }
    }

    /// Spends the unit: the operation has completed.
    #[inline(always)]
    pub fn made_progress(&self) {
        self.before.set(REFUSED);
    }
}

impl Drop for RestoreOnPending {
    #[inline(always)]
    fn drop(&mut self) {
        // A fiber may have taken the unit in another poll, within another kind of budget.
        let before = self.before.get();
        if before != REFUSED && kind(before) == kind(LEFT.get()) {
            waited(before);
        }
    }
}

impl fmt::Debug for RestoreOnPending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RestoreOnPending")
            .field(&Budget(self.before.get()))
            .finish()
    }
}

/// Takes one unit. If none is left, the task is woken, and is to return `Pending`.
#[inline(always)]
pub fn poll_proceed(context: &mut Context<'_>) -> Poll<RestoreOnPending> {
    if is_spent(LEFT.get()) && refuses(context.waker()) {
        return Poll::Pending;
    }
    let left = LEFT.get();
    LEFT.set(left - 1);
    Poll::Ready(RestoreOnPending::new(left))
}

/// Takes one unit for an operation that has begun with [`point`]: it asks no simulation a second time.
#[inline(always)]
pub fn poll_proceed_after_point(context: &mut Context<'_>) -> Poll<RestoreOnPending> {
    let left = LEFT.get();
    if is_simulated(kind(left)) {
        LEFT.set(SIMULATED | REFUSED);
        return Poll::Ready(RestoreOnPending::new(left));
    }
    poll_proceed(context)
}

/// Polls an operation if there is a unit left for it. The unit is spent if the
/// operation is ready.
#[inline(always)]
pub fn poll_with<R>(
    context: &mut Context<'_>,
    operation: impl FnOnce(&mut Context<'_>) -> Poll<R>,
) -> Poll<R> {
    if is_spent(LEFT.get()) && refuses(context.waker()) {
        return Poll::Pending;
    }
    let left = LEFT.get();
    let result = operation(context);
    if result.is_ready() {
        LEFT.set(left - 1);
    } else {
        waited(left);
    }
    result
}

/// Tries an operation that needs no waker, if there is a unit left for it; the
/// unit is spent if there is a result. Without one, a future that calls
/// [`poll_with`] or [`poll_proceed`] has to continue from there.
#[inline(always)]
pub fn attempt<R>(operation: impl FnOnce() -> Option<R>) -> Option<R> {
    attempt_with((), |()| operation().ok_or(())).ok()
}

/// Like [`attempt`], but with a value that the operation takes, and gives back if it has
/// to wait.
///
/// # Errors
///
/// The input, if no unit was left or the operation has to wait.
#[inline(always)]
pub fn attempt_with<T, R>(input: T, operation: impl FnOnce(T) -> Result<R, T>) -> Result<R, T> {
    let left = LEFT.get();
    if is_spent(left) {
        return Err(input);
    }
    let result = operation(input);
    if result.is_ok() {
        LEFT.set(left - 1);
    }
    result
}

/// A future that spends a unit when it is ready: see [`cooperative`].
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct Coop<F: Future> {
    fut: F,
}

/// Makes a future take part in the budget.
#[inline]
pub fn cooperative<F: Future>(fut: F) -> Coop<F> {
    Coop { fut }
}

impl<F: Future> Future for Coop<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the future is pinned with its wrapper: it is never moved out, `Coop` has no
        // `drop` of its own and is `Unpin` only if the future is.
        let fut = unsafe { self.map_unchecked_mut(|this| &mut this.fut) };
        let unit = ready!(poll_proceed(context));
        let result = fut.poll(context);
        if result.is_ready() {
            unit.made_progress();
        }
        result
    }
}

/// Notes that an operation had to wait, with this much left.
#[inline(always)]
fn waited(left: u64) {
    LEFT.set(match kind(left) {
        OUTSIDE => OUTSIDE | full(OUTSIDE),
        _ => left,
    });
}

/// Handles an operation with nothing left. Returns whether it is turned away; its task is woken
/// then.
#[cold]
fn refuses(waker: &Waker) -> bool {
    let left = LEFT.get();
    let kind = kind(left);
    if is_simulated(kind) {
        return is_preempted(waker);
    }
    if kind == CAPTURE {
        return is_captured(waker);
    }
    if kind == POLL {
        if left == SPENT {
            FORCED_YIELDS.set(FORCED_YIELDS.get() + 1);
        }
        LEFT.set(REFUSED);
    } else {
        LEFT.set(kind | full(kind));
        let task = (waker.data(), ptr::from_ref(waker.vtable()));
        // A waker without data wakes no task. (Its vtable would not tell: every crate may have
        // its own copy of that of `Waker::noop`.)
        let no_task = waker.data().is_null();
        let has_limit = kind == OUTSIDE;
        if !has_limit || USED_UP_BY.replace(task) != task || no_task {
            return false;
        }
    }
    waker.wake_by_ref();
    true
}

/// Returns `true` unless the budget is spent. In a capture, always returns `true`.
#[inline(always)]
#[must_use]
pub fn has_budget_remaining() -> bool {
    let left = LEFT.get();
    !is_spent(left) || kind(left) == CAPTURE || decisions::IS_DECIDED && kind(left) == SIMULATED
}

/// Returns `true` if a budget of this kind is that of a poll in a simulation.
#[inline(always)]
const fn is_simulated(kind: u64) -> bool {
    decisions::IS_DECIDED && matches!(kind, SIMULATED | PREEMPTED)
}

/// An operation of a simulated poll begins. Returns `true` if it is turned away; its task is woken then.
#[inline]
fn is_preempted(waker: &Waker) -> bool {
    let asks = || {
        if waker.data().is_null() {
            // It belongs to no task that would be polled again.
            decisions::forget_operations();
            return false;
        }
        decisions::preempts(has_acted())
    };
    if kind(LEFT.get()) == PREEMPTED || asks() {
        LEFT.set(PREEMPTED | SPENT);
        waker.wake_by_ref();
        return true;
    }
    LEFT.set(SIMULATED | SPENT);
    false
}

/// Returns `true` in a poll that a simulation has preempted: its task is polled again in any case. For a waker of the
/// scheduler. Without the feature it is `false`.
#[inline(always)]
#[must_use]
pub fn is_preempting() -> bool {
    decisions::IS_DECIDED && kind(LEFT.get()) == PREEMPTED
}

/// Begins an operation that costs no unit, or takes one at the end only ([`poll_proceed_after_point`]). Returns `Pending` if it
/// is turned away, by a simulation or a capture. Without their features it does nothing.
#[inline(always)]
pub fn point(context: &Context<'_>) -> Poll<()> {
    if is_simulated(kind(LEFT.get())) && is_preempted(context.waker()) {
        return Poll::Pending;
    }
    leaf(context)
}

/// Begins an operation, as [`point`] does, of an `async` block.
#[inline]
pub async fn at_point() {
    poll_fn(|context| point(context)).await;
}

/// Returns `true` if a simulated poll has completed an operation since it has begun one.
#[inline(always)]
#[must_use]
pub fn has_acted() -> bool {
    decisions::IS_DECIDED && LEFT.get() == SIMULATED | REFUSED
}

/// Returns `true` in a simulated poll whose last operation waits.
#[inline(always)]
#[must_use]
pub fn waits() -> bool {
    decisions::IS_DECIDED && LEFT.get() == SIMULATED | SPENT && decisions::has_begun()
}

/// Records that the task has completed an operation, or has changed something that others can see, without a unit: no
/// operation after this is one that waited before. Only for a simulation.
#[inline(always)]
pub fn acted() {
    if decisions::IS_DECIDED && LEFT.get() == SIMULATED | SPENT {
        LEFT.set(SIMULATED | REFUSED);
    }
}

/// Polls within a capture: each operation calls `leaf`, does nothing, and is pending. What it had
/// done before stays as it was: it has its place in its queue, and a lock that was handed to it. It
/// is woken when the capture ends.
#[cfg(feature = "taskdump")]
pub fn with_capture<R>(leaf: &mut dyn FnMut(), poll: impl FnOnce() -> R) -> R {
    capture::with(leaf, || scoped(Budget::CAPTURE, poll))
}

/// Returns whether this thread polls within a capture.
#[cfg(feature = "taskdump")]
#[inline(always)]
#[must_use]
pub fn is_capturing() -> bool {
    kind(LEFT.get()) == CAPTURE
}

/// Returns `Pending` within a capture. For operations that cost no unit, or take one at the end only. Without
/// the feature `taskdump` it does nothing.
#[inline(always)]
pub fn leaf(context: &Context<'_>) -> Poll<()> {
    #[cfg(feature = "taskdump")]
    if is_capturing() && is_captured(context.waker()) {
        return Poll::Pending;
    }
    _ = context;
    Poll::Ready(())
}

/// Returns the address of the function in which captures call `leaf`: its frame in a stack, and those
/// below it, are not the program's.
#[cfg(feature = "taskdump")]
#[must_use]
pub fn leaf_address() -> *const () {
    is_captured as *const ()
}

/// Reports an operation to the capture. Returns `false` if there is none.
// Its frame bounds the stack.
#[cold]
#[inline(never)]
fn is_captured(waker: &Waker) -> bool {
    #[cfg(feature = "taskdump")]
    {
        // The capture's function may use operations itself.
        unconstrained(|| capture::reached(waker))
    }
    #[cfg(not(feature = "taskdump"))]
    {
        _ = waker;
        false
    }
}

/// Returns `true` if an operation of this poll was turned away because no unit is left. For a
/// scheduler, before the budget of the poll ends.
#[inline(always)]
#[must_use]
pub fn is_refused() -> bool {
    LEFT.get() == POLL | REFUSED
}

/// Returns the number of times that a task of this thread has been made to yield so far.
#[must_use]
pub fn forced_yields() -> u64 {
    FORCED_YIELDS.get()
}

/// Runs `run` without a limit. In a poll by one of our schedulers it remains a part of that poll, and
/// must not block the thread.
#[inline(always)]
pub fn unconstrained<R>(run: impl FnOnce() -> R) -> R {
    let budget = if is_poll(LEFT.get()) {
        Budget::UNCONSTRAINED_POLL
    } else {
        Budget::UNCONSTRAINED
    };
    scoped(budget, run)
}

/// Runs `run` without a limit, and as no part of a poll: it may block the thread. For a scheduler
/// whose other tasks continue in another thread.
#[inline(always)]
pub fn outside_polls<R>(run: impl FnOnce() -> R) -> R {
    scoped(Budget::UNCONSTRAINED, run)
}

/// Runs `run`, in which a fiber may suspend, with this budget.
#[inline(always)]
fn scoped<R>(budget: Budget, run: impl FnOnce() -> R) -> R {
    // SAFETY: it has no destructor.
    unsafe { scopes::with(LEFT.with(ptr::from_ref), budget.0, run) }
}

/// Runs `run` with a full budget, for a scheduler that polls a task. Afterwards, also after a
/// panic, the previous budget is restored. A fiber that has called the scheduler does not suspend in it.
#[inline(always)]
pub fn budget<R>(run: impl FnOnce() -> R) -> R {
    struct Restore(u64);
    impl Drop for Restore {
        #[inline(always)]
        fn drop(&mut self) {
            LEFT.set(self.0);
        }
    }
    let _restore = Restore(LEFT.replace(Budget::of_poll().0));
    run()
}

/// Sets the budget, for a scheduler that continues a task elsewhere.
#[inline(always)]
pub fn set(budget: Budget) {
    LEFT.set(budget.0);
}

/// Lifts the limit, for code that blocks the thread. Returns the budget before, for [`set`] to
/// restore.
#[inline(always)]
pub fn stop() -> Budget {
    Budget(LEFT.replace(Budget::UNCONSTRAINED.0))
}

/// Tokio's message, because people search for it.
const MAY_NOT_BLOCK: &str = "Cannot block the current thread from within a runtime. This happens because a \
     function attempted to block the current thread while the thread is being used to drive \
     asynchronous tasks.";

/// Checks that the caller may block its thread. A task that one of our schedulers polls must not.
///
/// # Panics
///
/// In a task that a scheduler polls within [`budget`], and not in [`outside_polls`].
#[inline]
#[track_caller]
pub fn assert_may_block() {
    assert!(!is_poll(LEFT.get()), "{MAY_NOT_BLOCK}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units() -> Option<u64> {
        let left = LEFT.get();
        (kind(left) == POLL).then(|| left.saturating_sub(SPENT))
    }

    fn proceed() -> Poll<RestoreOnPending> {
        poll_proceed(&mut Context::from_waker(Waker::noop()))
    }

    fn spend() -> bool {
        let Poll::Ready(unit) = proceed() else {
            return false;
        };
        unit.made_progress();
        true
    }

    /// Returns a waker other than the no-op waker.
    fn some_waker() -> Waker {
        struct Ignore;
        impl std::task::Wake for Ignore {
            fn wake(self: std::sync::Arc<Self>) {}
        }
        std::sync::Arc::new(Ignore).into()
    }

    #[test]
    fn outside_an_operation_is_turned_away_once_in_a_while() {
        let waker = some_waker();
        let context = &mut Context::from_waker(&waker);
        let mut succeeds = || poll_with(context, |_| Poll::Ready(())).is_ready();
        let mut done = || (0..).take_while(|_| succeeds()).count();
        // The first time it is found out which task it is.
        assert_eq!([done(), done()], [2 * BUDGET as usize, BUDGET as usize]);
        assert_eq!(units(), None);
    }

    #[test]
    fn outside_tasks_that_take_turns_or_wait_are_not_turned_away() {
        let wakers = [some_waker(), some_waker()];
        let poll = |n: usize, ready| {
            let operation = |_: &mut Context<'_>| {
                if ready {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            };
            poll_with(&mut Context::from_waker(&wakers[n]), operation).is_ready()
        };
        for turn in 0..10_000 {
            assert!(poll(turn / BUDGET as usize % 2, true));
        }
        for turn in 0..10_000 {
            assert_eq!(poll(0, turn % 100 != 0), turn % 100 != 0);
        }
    }

    #[test]
    fn a_poll_that_would_not_be_repeated_is_not_turned_away() {
        for _ in 0..10_000 {
            assert!(spend());
        }
    }

    #[test]
    fn without_a_limit_the_count_is_refilled() {
        unconstrained(|| {
            LEFT.set(UNLIMITED | (SPENT + 2));
            assert!(spend() && spend() && spend());
            assert!(kind(LEFT.get()) == UNLIMITED && has_budget_remaining());
        });
    }

    #[test]
    fn only_progress_costs() {
        budget(|| {
            assert_eq!(units(), Some(128));
            let unit = proceed();
            assert_eq!(units(), Some(127));
            drop(unit);
            assert_eq!(units(), Some(128));
            assert!(spend());
            assert!(spend());
            assert_eq!(units(), Some(126));
            budget(|| assert!(spend() && units() == Some(127)));
            unconstrained(|| assert!(spend() && units().is_none()));
            outside_polls(|| assert!(spend() && units().is_none()));
            assert_eq!(units(), Some(126));
            assert_eq!(attempt(|| None::<()>), None);
            assert_eq!(units(), Some(126));
            assert_eq!(attempt(|| Some(3)), Some(3));
            assert_eq!(units(), Some(125));
        });
        assert_eq!(units(), None);
    }

    #[test]
    fn it_ends_and_that_is_counted_once() {
        let before = forced_yields();
        budget(|| {
            let spent = (0..128).filter(|_| spend()).count();
            assert_eq!(spent, 128);
            assert!(!has_budget_remaining());
            assert!(!is_refused());
            for _ in 0..2 {
                assert!(!spend());
                assert!(is_refused());
            }
            assert_eq!(attempt(|| Some(())), None);
            let context = &mut Context::from_waker(Waker::noop());
            assert!(poll_with(context, |_| Poll::Ready(())).is_pending());
            unconstrained(|| assert!(spend()));
        });
        assert_eq!(forced_yields() - before, 1);
        assert!(spend());
    }

    #[test]
    fn only_what_is_no_part_of_a_poll_may_block() {
        let may_block = || std::panic::catch_unwind(assert_may_block).is_ok();
        unconstrained(|| assert!(may_block()));
        budget(|| {
            assert!(!may_block());
            unconstrained(|| {
                unconstrained(|| assert!(!may_block()));
                outside_polls(|| unconstrained(|| assert!(may_block())));
                assert!(!may_block());
                LEFT.set(UNLIMITED_POLL | SPENT);
                assert!(spend() && spend() && !may_block());
            });
        });
        assert!(may_block());
    }

    #[test]
    fn a_panic_leaves_the_limit_behind() {
        let panic = std::panic::catch_unwind(|| budget(|| panic!("on purpose")));
        assert!(panic.is_err());
        assert_eq!(units(), None);
    }

    #[test]
    fn a_limit_can_be_kept_elsewhere() {
        budget(|| {
            assert!(spend());
            let kept = stop();
            assert_eq!(units(), None);
            assert_eq!(format!("{kept:?}"), "Budget(Some(127))");
            set(kept);
            assert_eq!(units(), Some(127));
        });
    }
}
