//! The parking table with a register of the threads that wait: for deadlock detection only.
//!
//! 1. A thread registers its wait before it parks, and removes it afterwards. After `before_sleep`, in
//!    which a condition variable releases its mutex, it adds its resources. They do not change until it
//!    has removed the wait: only the thread itself changes them. A wait without them is in no cycle.
//! 2. The table's `ParkToken` is the address of the wait, which has the user's token.
//! 3. The register is locked before a bucket, never after.
//!
//! **A reported cycle is one.** `check_deadlock` holds the register, so no wait begins or ends. It looks for
//! each wait of a cycle in the table, twice. A wait that has left its queue does not return to it. So between
//! the two looks all of them were parked at the same time, each for a resource that the next one holds.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, ThreadId};
use std::time::Instant;

use backtrace::Backtrace;
use blitz_io_futex::parking::{
    self, DEFAULT_UNPARK_TOKEN, FilterOp, ParkResult, ParkToken, RequeueOp, UnparkResult,
    UnparkToken,
};

/// A thread that waits for itself, or for other threads that wait for it.
#[derive(Debug)]
pub struct DeadlockedThread {
    thread_id: ThreadId,
    backtrace: Backtrace,
}

impl DeadlockedThread {
    /// Returns the thread's identifier.
    pub fn thread_id(&self) -> ThreadId {
        self.thread_id
    }

    /// Returns the thread's stack.
    pub fn backtrace(&self) -> &Backtrace {
        &self.backtrace
    }
}

/// A wait, on the stack of its thread.
struct Wait {
    park_token: ParkToken,
    /// Set by the thread that reports the deadlock.
    report: Mutex<Option<mpsc::Sender<DeadlockedThread>>>,
}

/// The register's entry of a wait.
struct Registered {
    key: usize,
    /// `None` until the thread is about to sleep.
    resources: Option<Vec<usize>>,
    is_timed: bool,
}

/// The waits, by their addresses.
static REGISTER: Mutex<BTreeMap<usize, Registered>> = Mutex::new(BTreeMap::new());

thread_local! {
    static RESOURCES: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

fn register() -> MutexGuard<'static, BTreeMap<usize, Registered>> {
    REGISTER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does nothing in the destructors of thread-local variables, where resources may be unknown.
pub fn acquire(key: usize) {
    _ = RESOURCES.try_with(|resources| resources.borrow_mut().push(key));
}

pub fn release(key: usize) {
    _ = RESOURCES.try_with(|resources| {
        let mut resources = resources.borrow_mut();
        if let Some(index) = resources.iter().rposition(|held| *held == key) {
            resources.swap_remove(index);
        }
    });
}

/// [`parking::park`] of a registered wait.
///
/// # Safety
///
/// As for [`parking::park`].
pub unsafe fn park(
    key: usize,
    validate: impl FnOnce() -> bool,
    before_sleep: impl FnOnce(),
    timed_out: impl FnOnce(usize, bool),
    park_token: ParkToken,
    timeout: Option<Instant>,
) -> ParkResult {
    let wait = Wait {
        park_token,
        report: Mutex::new(None),
    };
    let address = (&raw const wait).expose_provenance();
    let registered = Registered {
        key,
        resources: None,
        is_timed: timeout.is_some(),
    };
    register().insert(address, registered);
    let before_sleep = || {
        before_sleep();
        let resources = RESOURCES.try_with(|resources| resources.borrow().clone());
        if let Some(wait) = register().get_mut(&address) {
            wait.resources = Some(resources.unwrap_or_default());
        }
    };
    let token = ParkToken(address);
    // SAFETY: this function's contract is that of `parking`.
    let result = unsafe { parking::park(key, validate, before_sleep, timed_out, token, timeout) };
    register().remove(&address);
    let reporter = wait
        .report
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(reporter) = reporter {
        report(&reporter);
        drop(reporter);
        loop {
            thread::park();
        }
    }
    result
}

fn report(reporter: &mpsc::Sender<DeadlockedThread>) {
    // The other side waits for it.
    _ = reporter.send(DeadlockedThread {
        thread_id: thread::current().id(),
        backtrace: Backtrace::new(),
    });
}

/// [`parking::unpark_filter`], whose filter gets the user's tokens.
///
/// # Safety
///
/// As for [`parking::unpark_filter`].
pub unsafe fn unpark_filter(
    key: usize,
    mut filter: impl FnMut(ParkToken) -> FilterOp,
    callback: impl FnOnce(UnparkResult) -> UnparkToken,
) -> UnparkResult {
    let of_user = |token: ParkToken| {
        let wait = std::ptr::with_exposed_provenance::<Wait>(token.0);
        // SAFETY: the token of a parked thread is the address of its wait, which lives while it is parked.
        filter(unsafe { (*wait).park_token })
    };
    // SAFETY: this function's contract is that of `parking`.
    unsafe { parking::unpark_filter(key, of_user, callback) }
}

/// [`parking::unpark_requeue`], after which the register has the new keys.
///
/// # Safety
///
/// As for [`parking::unpark_requeue`].
pub unsafe fn unpark_requeue(
    key_from: usize,
    key_to: usize,
    validate: impl FnOnce() -> RequeueOp,
    callback: impl FnOnce(RequeueOp, UnparkResult) -> UnparkToken,
) -> UnparkResult {
    // SAFETY: this function's contract is that of `parking`.
    let result = unsafe { parking::unpark_requeue(key_from, key_to, validate, callback) };
    if result.requeued_threads > 0 {
        let mut register = register();
        for_each(key_to, |address| {
            if let Some(wait) = register.get_mut(&address) {
                wait.key = key_to;
            }
        });
    }
    result
}

/// Calls `visit` with the address of each wait that is parked under `key`.
fn for_each(key: usize, mut visit: impl FnMut(usize)) {
    let skip = |token: ParkToken| {
        visit(token.0);
        FilterOp::Skip
    };
    // SAFETY: no thread is unparked, so the key's owner notices nothing. The closures do not panic.
    unsafe { parking::unpark_filter(key, skip, |_| DEFAULT_UNPARK_TOKEN) };
}

/// Returns all deadlocks that no earlier call has returned, each as the threads of a cycle.
///
/// Blocks until each of these threads has captured its stack.
pub fn check_deadlock() -> Vec<Vec<DeadlockedThread>> {
    let register = register();
    let is_asleep = |wait: &Registered| !wait.is_timed && wait.resources.is_some();
    let waits: Vec<_> = register
        .iter()
        .filter(|(_, wait)| is_asleep(wait))
        .collect();
    let mut receivers = Vec::new();
    for cycle in cycles(&waits) {
        let is_parked = |&index: &usize| {
            let (&address, wait) = waits[index];
            let mut is_there = false;
            for_each(wait.key, |parked| is_there |= parked == address);
            is_there
        };
        if !(cycle.iter().all(is_parked) && cycle.iter().all(is_parked)) {
            continue;
        }
        let (sender, receiver) = mpsc::channel();
        for index in cycle {
            let (&address, wait) = waits[index];
            unpark_to_report(wait.key, address, &sender);
        }
        receivers.push(receiver);
    }
    drop(waits);
    // The threads need it on their way.
    drop(register);
    let threads = |receiver: mpsc::Receiver<_>| receiver.into_iter().collect();
    receivers.into_iter().map(threads).collect()
}

/// Takes a deadlocked thread out of its queue, for it to report its stack.
fn unpark_to_report(key: usize, address: usize, sender: &mpsc::Sender<DeadlockedThread>) {
    let choose = |token: ParkToken| {
        if token.0 != address {
            return FilterOp::Skip;
        }
        let wait = std::ptr::with_exposed_provenance::<Wait>(address);
        // SAFETY: the token of a parked thread is the address of its wait, which lives while it is parked.
        let mut report = unsafe { (*wait).report.lock() }.unwrap_or_else(PoisonError::into_inner);
        *report = Some(sender.clone());
        FilterOp::Unpark
    };
    // SAFETY: the thread never returns from `park`, so the key's owner notices only that it is gone,
    // as after a timeout. The closures do not panic.
    unsafe { parking::unpark_filter(key, choose, |_| DEFAULT_UNPARK_TOKEN) };
}

/// Returns cycles of waits, each for a resource that the next one's thread holds. Each wait is in one
/// of them at most.
fn cycles(waits: &[(&usize, &Registered)]) -> Vec<Vec<usize>> {
    let holders = |key: usize| {
        let holds = move |index: &usize| {
            let resources = waits[*index].1.resources.as_deref();
            resources.is_some_and(|resources| resources.contains(&key))
        };
        (0..waits.len()).filter(holds)
    };
    let mut is_done = vec![false; waits.len()];
    let mut found = Vec::new();
    for start in 0..waits.len() {
        // The path from `start`: each wait with those that hold its resource and were not visited yet.
        let mut path: Vec<(usize, Vec<usize>)> = Vec::new();
        if !is_done[start] {
            path.push((start, holders(waits[start].1.key).collect()));
        }
        while let Some((wait, left)) = path.last_mut() {
            let Some(next) = left.pop() else {
                is_done[*wait] = true;
                path.pop();
                continue;
            };
            if is_done[next] {
                continue;
            }
            if let Some(first) = path.iter().position(|(wait, _)| *wait == next) {
                let cycle: Vec<usize> = path[first..].iter().map(|(wait, _)| *wait).collect();
                cycle.iter().for_each(|&wait| is_done[wait] = true);
                path.truncate(first);
                found.push(cycle);
            } else {
                path.push((next, holders(waits[next].1.key).collect()));
            }
        }
    }
    found
}
