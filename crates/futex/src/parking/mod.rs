//! Queues of parked threads under any address, with parking_lot_core's names and semantics.
//!
//! A lock that is one byte has no room for a queue. [`park`] queues the calling thread under a *key*, which is
//! the address of the lock by convention, and puts it to sleep. [`unpark_one`] and the others take threads out
//! of the queue and wake them. Unlike [`wake_one`], they call back while the queue is locked,
//! so a lock can change its state in the same step in which a thread leaves the queue.
//!
//! The package `drop-in/parking_lot_core` is this module under the name of parking_lot_core.
//!
//! ```
//! use std::sync::atomic::{AtomicBool, Ordering};
//!
//! use blitz_io::futex::parking::{DEFAULT_PARK_TOKEN, DEFAULT_UNPARK_TOKEN, park, unpark_all};
//!
//! static OPEN: AtomicBool = AtomicBool::new(false);
//! let key = (&raw const OPEN).addr();
//!
//! std::thread::scope(|scope| {
//!     scope.spawn(|| {
//!         let is_shut = || !OPEN.load(Ordering::Acquire);
//!         // SAFETY: the key is the address of our own object, and the closures do not panic.
//!         unsafe { park(key, is_shut, || {}, |_, _| {}, DEFAULT_PARK_TOKEN, None) };
//!         assert!(OPEN.load(Ordering::Acquire));
//!     });
//!     OPEN.store(true, Ordering::Release);
//!     // SAFETY: as above.
//!     unsafe { unpark_all(key, DEFAULT_UNPARK_TOKEN) };
//! });
//! ```
//!
//! # The protocol
//!
//! The idea is WebKit's `ParkingLot`, in the form that parking_lot_core gave it. A table has buckets; the key
//! decides the bucket. A bucket is a lock around a list of nodes, each on the stack of its thread. A thread sleeps
//! on the word of its node through [`wait_deadline`]. The table of sleepers in `sys/table.rs`
//! is the layer below: it stands in for a futex where the system has none, and this table sleeps on it there.
//!
//! 1. **Parking.** The thread locks the bucket and calls `validate`. If that returns `true`, it appends its node
//!    and unlocks; it calls `before_sleep`, and sleeps while its word is `PARKED`.
//! 2. **Unparking.** A thread locks the bucket and takes nodes out of the queue. It calls back, and writes the
//!    token into the nodes. Then it unlocks, and for each node stores `UNPARKED` and wakes the word's address, in
//!    the way that the node names.
//! 3. **Requeueing.** A thread locks both buckets in the order of the table. It moves nodes from one queue to the
//!    other and changes their key. No thread wakes.
//! 4. **Timing out.** The thread reads its node's key, locks that bucket and reads the key again. If it has
//!    changed, it starts again. Under the lock, either the node is in the queue, and the thread removes it
//!    and calls `timed_out`; or another thread has taken it out, and the thread waits for `UNPARKED`.
//!
//! **No unpark is lost.**
//!
//! 1. A caller changes its state, then unparks. `validate` reads that state under the lock that the unpark
//!    takes. If the unpark has the lock first, `validate` sees the change. Else the node is in the queue.
//! 2. A node that was taken out gets `UNPARKED` in any case, even if a callback panics: `Chain` stores it when it
//!    is dropped.
//! 3. The thread compares its word and falls asleep in one step, so it does not sleep through that store.
//!
//! **No unpark is spent on a thread that timed out.** Step 4: whether a node is in the queue is decided under
//! the lock. A thread that was taken out returns `Unparked`, however late it is.
//!
//! **A node outlives its uses.** Its thread leaves `park` after it has removed the node itself, or after it has
//! loaded `UNPARKED`. The thread that stores `UNPARKED` has read the next node before, and does not
//! access this one afterwards: a wake uses only the address. If `before_sleep` panics, the thread leaves as in
//! step 4.
//!
//! **Memory is ordered.** The stores before an unpark happen before the return of the `park` that it ends: the
//! store of `UNPARKED` is a release, the load an acquire.

mod queue;
mod table;
mod tokens;

use std::time::Instant;

use queue::{Chain, Node, PARKED};
use table::{Content, Pair, lock_bucket, lock_bucket_of};
pub use tokens::{
    DEFAULT_PARK_TOKEN, DEFAULT_UNPARK_TOKEN, FilterOp, ParkResult, ParkToken, RequeueOp,
    UnparkResult, UnparkToken,
};

use crate::atomic::AtomicU32;
use crate::{WaitResult, block_until_different, wait_deadline, wake_one};

/// Parks the calling thread under `key`, until it is unparked or `deadline` passes.
///
/// `validate` is called while the queue is locked. If it returns `false`, nothing happens. `before_sleep` is
/// called when the thread is in the queue, which is unlocked by then. `timed_out` is called while the
/// queue is locked, if the deadline passed: its arguments are the key under which the thread was
/// parked last, and `true` if no other thread is parked under it. The wait has no spurious end.
///
/// # Safety
///
/// The key is an address that the caller controls: other primitives park under theirs. The closures do not
/// panic. `validate` and `timed_out` call no function of this module, and `before_sleep` does not park.
///
/// ```
/// use std::time::Instant;
///
/// use blitz_io::futex::parking::{DEFAULT_PARK_TOKEN, ParkResult, park};
///
/// let lock = 0u8;
/// let key = (&raw const lock).addr();
/// // SAFETY: the key is the address of our own object, and the closures do not panic.
/// let result = unsafe {
///     park(key, || true, || {}, |_, is_last| assert!(is_last), DEFAULT_PARK_TOKEN, Some(Instant::now()))
/// };
/// assert_eq!(result, ParkResult::TimedOut);
/// ```
pub unsafe fn park(
    key: usize,
    validate: impl FnOnce() -> bool,
    before_sleep: impl FnOnce(),
    timed_out: impl FnOnce(usize, bool),
    park_token: ParkToken,
    deadline: Option<Instant>,
) -> ParkResult {
    let sleep =
        |word: &AtomicU32, value| wait_deadline(word, value, deadline) != WaitResult::TimedOut;
    let wake = |word| {
        wake_one(word);
    };
    let sleeper = Sleeper { sleep, wake };
    // SAFETY: the caller's promise.
    unsafe { park_with(key, validate, before_sleep, timed_out, park_token, sleeper) }
}

/// The way in which the caller of [`park_with`] sleeps.
#[doc(hidden)]
pub struct Sleeper<S> {
    /// Sleeps while the word holds the value. Returns `false` if the caller gives up.
    pub sleep: S,
    /// Wakes a caller that sleeps on the word, which may have been freed. Called by threads that unpark.
    pub wake: fn(*const AtomicU32),
}

/// Parks as [`park`] does, but sleeps in another way: for fibers. The result is `TimedOut` if the caller gave
/// up.
///
/// # Safety
///
/// As for [`park`]. When the word has changed, `wake` ends the `sleep` of a caller on it. It also ends the sleep of a
/// thread in [`wait`](crate::wait): so a caller that has given up waits for the thread that has taken it out.
#[doc(hidden)]
pub unsafe fn park_with(
    key: usize,
    validate: impl FnOnce() -> bool,
    before_sleep: impl FnOnce(),
    timed_out: impl FnOnce(usize, bool),
    park_token: ParkToken,
    mut sleeper: Sleeper<impl FnMut(&AtomicU32, u32) -> bool>,
) -> ParkResult {
    let node = Node::new(key, park_token, sleeper.wake);
    {
        let mut bucket = lock_bucket(key);
        if !validate() {
            return ParkResult::Invalid;
        }
        // SAFETY: this function returns, or unwinds, only after the node has left the queue and any chain.
        unsafe { bucket.queue.push(&node) };
    }
    let leaver = Leaver(&node);
    before_sleep();
    let unparked = loop {
        let goes_on = (sleeper.sleep)(&node.word, PARKED);
        let unparked = node.unparked();
        if unparked.is_some() || !goes_on {
            break unparked;
        }
    };
    std::mem::forget(leaver);
    unparked
        .or_else(|| leave(&node, timed_out))
        .map_or(ParkResult::TimedOut, ParkResult::Unparked)
}

/// Removes the node and calls `timed_out`, or returns the token of the thread that has taken it out.
#[cold]
fn leave(node: &Node, timed_out: impl FnOnce(usize, bool)) -> Option<UnparkToken> {
    let mut bucket = lock_bucket_of(node);
    if let Some(is_last) = bucket.queue.leave(node) {
        timed_out(node.key.load(crate::atomic::Ordering::Relaxed), is_last);
        return None;
    }
    drop(bucket);
    block_until_different(PARKED, &node.word);
    node.unparked()
}

/// Takes the node of a thread that unwinds out of the table.
struct Leaver<'a>(&'a Node);

impl Drop for Leaver<'_> {
    fn drop(&mut self) {
        leave(self.0, |_, _| {});
    }
}

/// Unparks the thread that has been parked under `key` for longest.
///
/// `callback` is called while the queue is locked, also if no thread is parked. The thread gets the token that it
/// returns.
///
/// # Safety
///
/// The key is an address that the caller controls. `callback` does not panic, and calls no function of this
/// module.
///
/// ```
/// use blitz_io::futex::parking::{DEFAULT_UNPARK_TOKEN, unpark_one};
///
/// let lock = 0u8;
/// let key = (&raw const lock).addr();
/// // SAFETY: the key is the address of our own object, and the closure does not panic.
/// let result = unsafe { unpark_one(key, |_| DEFAULT_UNPARK_TOKEN) };
/// assert_eq!(result.unparked_threads, 0);
/// ```
pub unsafe fn unpark_one(
    key: usize,
    callback: impl FnOnce(UnparkResult) -> UnparkToken,
) -> UnparkResult {
    let mut bucket = lock_bucket(key);
    let (chain, have_more_threads) = bucket.queue.take_first(key, 1);
    let result = result_of(&mut bucket, &chain, have_more_threads);
    chain.set_token(callback(result));
    drop(bucket);
    drop(chain);
    result
}

/// Unparks those threads under `key` that `filter` chooses by their [`ParkToken`]s, in the order in which they
/// parked.
///
/// `filter` is called for each thread until it returns [`FilterOp::Stop`], and then `callback`, both while the
/// queue is locked. The threads get the token that `callback` returns.
///
/// # Safety
///
/// As for [`unpark_one`], for both closures.
///
/// ```
/// use blitz_io::futex::parking::{DEFAULT_UNPARK_TOKEN, FilterOp, unpark_filter};
///
/// let lock = 0u8;
/// let key = (&raw const lock).addr();
/// // SAFETY: the key is the address of our own object, and the closures do not panic.
/// let result = unsafe { unpark_filter(key, |_| FilterOp::Unpark, |_| DEFAULT_UNPARK_TOKEN) };
/// assert!(!result.have_more_threads);
/// ```
pub unsafe fn unpark_filter(
    key: usize,
    filter: impl FnMut(ParkToken) -> FilterOp,
    callback: impl FnOnce(UnparkResult) -> UnparkToken,
) -> UnparkResult {
    let mut bucket = lock_bucket(key);
    let (chain, have_more_threads) = bucket.queue.take(key, filter);
    let result = result_of(&mut bucket, &chain, have_more_threads);
    chain.set_token(callback(result));
    drop(bucket);
    drop(chain);
    result
}

/// Unparks all threads under `key`, and returns their number.
///
/// # Safety
///
/// The key is an address that the caller controls.
///
/// ```
/// use blitz_io::futex::parking::{DEFAULT_UNPARK_TOKEN, unpark_all};
///
/// let lock = 0u8;
/// // SAFETY: the key is the address of our own object.
/// assert_eq!(unsafe { unpark_all((&raw const lock).addr(), DEFAULT_UNPARK_TOKEN) }, 0);
/// ```
pub unsafe fn unpark_all(key: usize, unpark_token: UnparkToken) -> usize {
    let mut bucket = lock_bucket(key);
    let (chain, _) = bucket.queue.take_first(key, usize::MAX);
    drop(bucket);
    chain.set_token(unpark_token);
    chain.len()
}

/// Unparks or moves threads that are parked under `key_from`: moved threads are then parked under `key_to`, after
/// those that are already there.
///
/// `validate` chooses the operation, and `callback` gets its outcome, both while both queues are locked.
/// The unparked thread gets the token that `callback` returns.
///
/// # Safety
///
/// As for [`unpark_one`], for both keys and both closures.
///
/// ```
/// use blitz_io::futex::parking::{DEFAULT_UNPARK_TOKEN, RequeueOp, unpark_requeue};
///
/// let (condition, lock) = (0u8, 0u8);
/// let (from, to) = ((&raw const condition).addr(), (&raw const lock).addr());
/// // SAFETY: the keys are the addresses of our own objects, and the closures do not panic.
/// let result = unsafe {
///     unpark_requeue(from, to, || RequeueOp::RequeueAll, |_, _| DEFAULT_UNPARK_TOKEN)
/// };
/// assert_eq!(result.requeued_threads, 0);
/// ```
pub unsafe fn unpark_requeue(
    key_from: usize,
    key_to: usize,
    validate: impl FnOnce() -> RequeueOp,
    callback: impl FnOnce(RequeueOp, UnparkResult) -> UnparkToken,
) -> UnparkResult {
    let mut pair = Pair::lock(key_from, key_to);
    let operation = validate();
    let (unparks, requeues) = match operation {
        RequeueOp::Abort => return UnparkResult::default(),
        RequeueOp::UnparkOneRequeueRest => (1, usize::MAX),
        RequeueOp::RequeueAll => (0, usize::MAX),
        RequeueOp::UnparkOne => (1, 0),
        RequeueOp::RequeueOne => (0, 1),
    };
    let (chain, _) = pair.from().queue.take_first(key_from, unparks);
    let (moved, have_more_threads) = pair.from().queue.take_first(key_from, requeues);
    let requeued_threads = moved.len();
    // SAFETY: both buckets are locked.
    unsafe { pair.to().queue.requeue(moved, key_to) };
    let result = UnparkResult {
        requeued_threads,
        ..result_of(pair.from(), &chain, have_more_threads)
    };
    chain.set_token(callback(operation, result));
    drop(pair);
    drop(chain);
    result
}

fn result_of(bucket: &mut Content, chain: &Chain, have_more_threads: bool) -> UnparkResult {
    UnparkResult {
        unparked_threads: chain.len(),
        requeued_threads: 0,
        have_more_threads,
        be_fair: chain.len() > 0 && bucket.fairness.is_due(),
    }
}
