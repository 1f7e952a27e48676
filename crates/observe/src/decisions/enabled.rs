//! The back end of a thread, with the feature `sim`.
//!
//! A thread-local cell has a pointer to the back end, which [`with`] sets and resets. So the pointer is valid
//! whenever it is set: the back end is borrowed for as long as `with` runs, and a guard resets the cell also
//! when a panic passes. No function here keeps the reference longer than a call.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::{Decider, DescribeSocket, Idle, Next, Note};

/// A back end in use; see the module documentation.
type Pointer = Option<NonNull<dyn Decider>>;

thread_local! {
    static DECIDER: Cell<Pointer> = const { Cell::new(None) };
    /// The number of the run, which no other run of the process has.
    static RUN: Cell<u32> = const { Cell::new(0) };
    /// Describes the wait for a socket of the thread's simulated network.
    static DESCRIBE: Cell<Option<DescribeSocket>> = const { Cell::new(None) };
    /// Called before the thread of a run sleeps.
    static HELP: Cell<Option<fn()>> = const { Cell::new(None) };
    /// The object of the last operation of this poll.
    static TOUCHED: Cell<u32> = const { Cell::new(0) };
    /// The operations of this poll.
    static OPERATIONS: Cell<Operations> = const { Cell::new(Operations::after(0)) };
    /// The id of the child of a scope that the thread polls, if other children of that scope are ready.
    static HAS_SIBLINGS: Cell<Option<u64>> = const { Cell::new(None) };
    /// The ids of the children of scopes that the run has spawned, in their order.
    static CHILDREN: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    /// The thread calls the system on purpose.
    static USES_SYSTEM: Cell<bool> = const { Cell::new(false) };
}

static LAST_RUN: AtomicU32 = AtomicU32::new(0);

/// The number of an object among those of a run: the back end gives it when the object is made, or else when the first
/// operation on it begins. So the number does not depend on addresses.
#[derive(Debug, Default)]
pub struct Numbered(AtomicU64);

impl Numbered {
    /// Creates the number of an object that no run knows yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// The current task begins an operation on the object.
    #[inline]
    pub fn touch(&self) {
        if is_on() {
            TOUCHED.set(self.number());
        }
    }

    /// The current task makes the object.
    #[inline]
    pub fn made(&self) {
        if is_on() {
            self.number();
        }
    }

    fn number(&self) -> u32 {
        let run = u64::from(RUN.get());
        let known = self.0.load(Ordering::Relaxed);
        if known >> 32 == run {
            return known as u32;
        }
        let number = ask(|decider| decider.object()).unwrap_or(0);
        self.0
            .store(run << 32 | u64::from(number), Ordering::Relaxed);
        number
    }
}

/// The operations of a poll that neither it nor an earlier one has completed.
#[derive(Clone, Copy)]
struct Operations {
    /// Number of those that an earlier poll has begun, and this one has not polled.
    known: u32,
    /// Number of those that this poll has begun, or polled again.
    begun: u32,
}

impl Operations {
    /// Returns those of a poll that begins after polls that have left this number unfinished.
    const fn after(unfinished: u32) -> Self {
        Self {
            known: unfinished,
            begun: 0,
        }
    }

    /// The next operation is polled. Returns these operations then, and whether it begins. `has_acted`: another one has been completed.
    fn with_next(self, has_acted: bool) -> (Self, bool) {
        let Self { known, begun } = if has_acted { Self::after(0) } else { self };
        let next = Self {
            known: known.saturating_sub(1),
            begun: begun + 1,
        };
        (next, known == 0)
    }

    /// Returns the number of operations that are not completed at the end of the poll.
    const fn unfinished(self, has_acted: bool) -> u32 {
        if has_acted { 0 } else { self.begun }
    }
}

/// The number of operations that a child of a scope has begun and not completed.
#[derive(Debug)]
pub struct Unfinished {
    count: Cell<u32>,
    /// The id of the child.
    child: u64,
}

impl Unfinished {
    /// Returns those of the child with this id, which has begun none.
    #[must_use]
    pub const fn of_child(id: u64) -> Self {
        Self {
            count: Cell::new(0),
            child: id,
        }
    }

    /// Returns the number of the child among those of the run, or else its id.
    #[must_use]
    pub fn child(&self) -> u64 {
        number_of_child(self.child).unwrap_or(self.child)
    }
}

/// Resets the cells when it is dropped.
struct Reset(Pointer, u32, Vec<u64>);

impl Drop for Reset {
    fn drop(&mut self) {
        DECIDER.set(self.0);
        RUN.set(self.1);
        CHILDREN.set(std::mem::take(&mut self.2));
        TOUCHED.set(0);
        OPERATIONS.set(Operations::after(0));
    }
}

/// Lets `decider` decide at the points of this thread while `run` runs.
pub fn with<R>(decider: &dyn Decider, run: impl FnOnce() -> R) -> R {
    let pointer = NonNull::from(decider);
    let pointer =
        // SAFETY: only the lifetime changes, and the cell is reset before the borrow ends: see the module's head.
        unsafe { std::mem::transmute::<NonNull<dyn Decider + '_>, NonNull<dyn Decider>>(pointer) };
    let number = LAST_RUN.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
    let _reset = Reset(
        DECIDER.replace(Some(pointer)),
        RUN.replace(number),
        CHILDREN.take(),
    );
    run()
}

/// Returns `true` if a back end decides at the points of this thread.
#[inline]
#[must_use]
pub fn is_on() -> bool {
    DECIDER.get().is_some()
}

/// Calls the back end, if there is one.
#[inline]
fn ask<R>(call: impl FnOnce(&dyn Decider) -> R) -> Option<R> {
    // SAFETY: the pointer is valid whenever it is set: see the module documentation.
    let decider = DECIDER.get().map(|pointer| unsafe { pointer.as_ref() });
    decider.map(call)
}

/// A task is ready, as the last one.
#[inline]
pub fn ready(task: u64) {
    ask(|decider| decider.ready(task));
}

/// Returns what the thread does next. A task is ready.
#[inline]
#[must_use]
pub fn next(has_timer: bool) -> Next {
    TOUCHED.set(0);
    ask(|decider| {
        let next = decider.next(has_timer);
        OPERATIONS.set(Operations::after(decider.unfinished()));
        next
    })
    .unwrap_or(Next::Task(0))
}

/// An operation of the current task is polled. Returns `true` if it begins, and another task, or child of the scope, runs before
/// that. `has_acted`: the poll has completed another operation since the last one.
#[inline]
#[must_use]
pub fn preempts(has_acted: bool) -> bool {
    ask(|decider| {
        let (operations, begins) = OPERATIONS.get().with_next(has_acted);
        OPERATIONS.set(operations);
        begins
            && (decider.preempts(TOUCHED.get())
                || HAS_SIBLINGS
                    .get()
                    .is_some_and(|child| decider.passes_to_sibling(child)))
    })
    .unwrap_or(false)
}

/// From now on, no operation of the current poll is one that an earlier one has begun.
#[inline]
pub fn forget_operations() {
    OPERATIONS.set(Operations::after(0));
}

/// Returns `true` if the current poll has begun an operation, or has polled one again.
#[inline]
#[must_use]
pub fn has_begun() -> bool {
    OPERATIONS.get().begun != 0
}

/// Polls a child of a scope, which has operations of its own. `has_siblings`: other children of that scope are ready. `poll`
/// returns `true` if an operation has been completed since the last one has begun.
#[inline]
pub fn poll_child(has_siblings: bool, of: &Unfinished, poll: impl FnOnce() -> bool) {
    struct Reset(Option<u64>, Operations);
    impl Drop for Reset {
        fn drop(&mut self) {
            HAS_SIBLINGS.set(self.0);
            OPERATIONS.set(self.1);
        }
    }
    let operations = OPERATIONS.replace(Operations::after(of.count.get()));
    let _reset = Reset(
        HAS_SIBLINGS.replace(has_siblings.then_some(of.child)),
        operations,
    );
    let has_acted = poll();
    of.count.set(OPERATIONS.get().unfinished(has_acted));
}

/// The poll of a task has ended, and the task with it if `has_ended`. `has_acted`: it has completed an operation since the last
/// one. Returns `true` if the run is over.
#[inline]
#[must_use]
pub fn polled(has_acted: bool, has_ended: bool) -> bool {
    let unfinished = OPERATIONS.get().unfinished(has_acted);
    ask(|decider| decider.polled(TOUCHED.get(), unfinished, has_ended)).unwrap_or(false)
}

/// Returns what the thread does, as no task is ready.
#[must_use]
pub fn idle(timer: Option<Duration>) -> Idle {
    ask(|decider| decider.idle(timer)).unwrap_or(Idle::Advance)
}

/// Returns a number below `below`. `None` if the thread draws its own.
#[inline]
#[must_use]
pub fn random(below: u32) -> Option<u32> {
    ask(|decider| decider.random(below.max(1)))
}

/// The clock of the runtime has moved by this time.
pub fn advanced(by: Duration) {
    ask(|decider| decider.advanced(by));
}

/// Lets `run` call functions of the system, also those for which a simulation has answers of its own.
pub fn with_system<R>(run: impl FnOnce() -> R) -> R {
    struct Reset(bool);
    impl Drop for Reset {
        fn drop(&mut self) {
            USES_SYSTEM.set(self.0);
        }
    }
    let _reset = Reset(USES_SYSTEM.replace(true));
    run()
}

/// Returns `true` in [`with_system`].
#[inline]
#[must_use]
pub fn uses_system() -> bool {
    USES_SYSTEM.get()
}

/// Returns the number of the worker on which the current code runs. `None` without a back end.
#[must_use]
pub fn worker() -> Option<u32> {
    ask(|decider| decider.worker())
}

/// Returns a number below `of`, which is at least 2: how the fork-join pool runs its next job.
#[must_use]
pub fn job(of: u32) -> u32 {
    ask(|decider| decider.job(of)).unwrap_or(0)
}

/// Makes a task that runs the job.
pub fn run_later(job: Box<dyn FnOnce()>) {
    ask(|decider| decider.run_later(job));
}

/// Sets the function that [`help`] calls on this thread.
pub fn set_help(help: fn()) {
    HELP.set(Some(help));
}

/// Sets the function that describes waits for sockets of this thread's simulated network.
pub fn describe_sockets_by(describe: DescribeSocket) {
    DESCRIBE.set(Some(describe));
}

/// Describes the wait for a socket of this thread's simulated network. `None` if it is not known here.
#[must_use]
pub fn describe_socket(number: u64, writes: bool) -> Option<String> {
    DESCRIBE.get().and_then(|describe| describe(number, writes))
}

/// The thread is about to sleep. In a run, jobs that have not begun run before.
#[inline]
pub fn help() {
    if is_on() {
        if let Some(help) = HELP.get() {
            help();
        }
    }
}

/// A task has panicked.
pub fn panicked() {
    ask(|decider| decider.panicked());
}

/// A child that the future of its scope polls has panicked.
pub fn child_panicked() {
    ask(|decider| decider.child_panicked());
}

/// The future of the task with this number is dropped, as the task was aborted.
pub fn cancelled(task: u64) {
    ask(|decider| decider.cancelled(task));
}

/// The task with this number has a name, which a report may need after the end of the task.
pub fn named(task: u64, name: &str) {
    if explains() {
        ask(|decider| decider.named(task, name));
    }
}

/// Returns the number that the task with this number has in the run of this thread. `None` if it is no task of a run.
#[must_use]
pub fn number_of(task: u64) -> Option<u64> {
    ask(|decider| decider.number_of(task)).flatten()
}

/// A scope spawns a child with this id, which the future of the scope polls.
#[inline]
pub fn child_spawned(id: u64) {
    if is_on() {
        CHILDREN.with_borrow_mut(|children| children.push(id));
    }
}

/// Returns the number that the child of a scope with this id has among those of the run of this thread. `None` if it is no child
/// of a run.
#[must_use]
pub fn number_of_child(id: u64) -> Option<u64> {
    let position = CHILDREN.with_borrow(|children| children.iter().position(|child| *child == id));
    Some(position? as u64 + 1)
}

/// Returns `true` if the back end takes notes for a report.
#[inline]
#[must_use]
pub fn explains() -> bool {
    ask(|decider| decider.explains()).unwrap_or(false)
}

/// Gives the back end a note, if it takes notes.
#[inline]
pub fn note(note: impl FnOnce() -> Note) {
    if explains() {
        let note = note();
        ask(|decider| decider.note(note));
    }
}

/// Returns the number of the host on which the current code runs; 0 without a back end.
#[inline]
#[must_use]
pub fn host() -> u32 {
    ask(|decider| decider.host()).unwrap_or(0)
}

/// Returns what the clock of the current code's host shows at this moment of the runtime's clock.
#[inline]
#[must_use]
pub fn to_host(moment: Instant) -> Instant {
    ask(|decider| decider.to_host(moment)).unwrap_or(moment)
}

/// Returns the first moment of the runtime's clock at which the clock of the current code's host shows this.
#[inline]
#[must_use]
pub fn when_host_shows(moment: Instant) -> Instant {
    ask(|decider| decider.when_host_shows(moment)).unwrap_or(moment)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// Returns the same decision each time, and keeps the objects.
    #[derive(Default)]
    struct Fixed {
        objects: RefCell<Vec<u32>>,
        last: Cell<u32>,
    }

    impl Decider for Fixed {
        fn ready(&self, _: u64) {}

        fn next(&self, _: bool) -> Next {
            Next::Task(3)
        }

        fn preempts(&self, object: u32) -> bool {
            self.objects.borrow_mut().push(object);
            true
        }

        fn polled(&self, last: u32, _: u32, _: bool) -> bool {
            self.objects.borrow_mut().push(last);
            false
        }

        fn object(&self) -> u32 {
            self.last.set(self.last.get() + 1);
            self.last.get()
        }

        fn idle(&self, _: Option<Duration>) -> Idle {
            Idle::Stop
        }

        fn random(&self, below: u32) -> u32 {
            below - 1
        }

        fn panicked(&self) {}
    }

    #[test]
    fn a_back_end_decides_on_its_thread_until_its_run_ends() {
        let fixed = Fixed::default();
        assert!(!is_on() && !preempts(false) && random(9).is_none());
        with(&fixed, || {
            assert!(is_on() && preempts(false));
            assert_eq!((random(9), next(false)), (Some(8), Next::Task(3)));
            assert!(!std::thread::spawn(is_on).join().unwrap());
        });
        assert!(!is_on() && idle(None) == Idle::Advance);
    }

    #[test]
    fn a_panic_ends_the_run() {
        let fixed = Fixed::default();
        let run = || with(&fixed, || panic!("on purpose"));
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        assert!(!is_on());
    }

    #[test]
    fn objects_are_numbered_in_the_order_of_a_run() {
        let (one, other) = (Numbered::new(), Numbered::new());
        one.touch();
        let orders = [[&other, &one], [&one, &other]];
        for order in orders {
            let fixed = Fixed::default();
            with(&fixed, || {
                let _next = next(false);
                assert!(preempts(false) && !polled(false, false));
                for object in order {
                    object.touch();
                    assert!(preempts(false));
                }
                order[0].touch();
                assert!(!polled(false, false));
                let _next = next(false);
                assert!(!polled(false, false));
            });
            assert_eq!(*fixed.objects.borrow(), [0, 0, 1, 2, 1, 0]);
        }
    }

    #[test]
    fn an_operation_that_is_polled_again_does_not_begin() {
        let (operations, begins) = Operations::after(2).with_next(false);
        assert!(!begins);
        let (operations, begins) = operations.with_next(false);
        assert!(!begins && operations.unfinished(false) == 2);
        let (third, begins) = operations.with_next(false);
        assert!(begins && third.unfinished(false) == 3);
        // One of them has been completed, and it is not known which one.
        assert_eq!(third.unfinished(true), 0);
        let (next, begins) = Operations::after(2).with_next(true);
        assert!(begins && next.unfinished(false) == 1);
    }
}
