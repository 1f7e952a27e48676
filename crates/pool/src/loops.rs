//! Loops over a range of numbers, without iterators and without an allocation.
//!
//! A loop is cut into pieces of `grain` items. Each participant has a share of the pieces and a
//! counter of how many of them are taken. It takes the pieces of its own share, then the
//! remaining pieces of the others. So no thread waits for a worker that comes late, and items
//! that take longer than others do no harm. The first participant is the thread that requests the
//! loop, whether it is a worker or not.
//!
//! If a loop is already in progress in the pool, because two threads request one or because
//! loops are nested, the second one is cut in halves with [`join`](crate::join()) instead.

use std::any::Any;
use std::ops::{ControlFlow, Range};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicPtr};

use blitz_io_core::Lock;
use blitz_io_observe::{Caller, decisions};

use crate::join::join_on;
use crate::loop_slot::Reserved;
use crate::registry::Registry;
use crate::slots::Slots;
use crate::thread_pool::{ThreadPool, with_current};
use crate::try_trait::Try;
use crate::worker::Worker;

/// The work of a participant.
trait Body: Sync {
    /// The state that a participant keeps between pieces.
    type State;
    fn begin(&self) -> Self::State;
    /// Runs piece `piece`, which has the items `items`.
    fn run(&self, state: &mut Self::State, piece: usize, items: Range<usize>) -> ControlFlow<()>;
    /// Consumes the state at the end.
    fn end(&self, state: Self::State);
}

/// The three functions, as closures.
impl<S, B, R, E> Body for (B, R, E)
where
    B: Fn() -> S + Sync,
    R: Fn(&mut S, usize, Range<usize>) -> ControlFlow<()> + Sync,
    E: Fn(S) + Sync,
{
    type State = S;
    fn begin(&self) -> S {
        (self.0)()
    }
    fn run(&self, state: &mut S, piece: usize, items: Range<usize>) -> ControlFlow<()> {
        (self.1)(state, piece, items)
    }
    fn end(&self, state: S) {
        (self.2)(state);
    }
}

/// A range cut into pieces.
#[derive(Clone)]
struct Pieces {
    range: Range<usize>,
    grain: usize,
    count: usize,
}

impl Pieces {
    /// A `grain` of 0 means pieces so small that each thread gets eight of them.
    fn new(range: Range<usize>, grain: usize, threads: usize) -> Self {
        let len = range.end.saturating_sub(range.start);
        let grain = match grain {
            0 => len / threads.saturating_mul(8).max(1),
            grain => grain,
        };
        // The counters may run past the end, and must not overflow.
        let grain = grain.max(len / (isize::MAX as usize / 2)).max(1);
        Self {
            count: len.div_ceil(grain),
            range,
            grain,
        }
    }

    fn items(&self, piece: usize) -> Range<usize> {
        let start = self.range.start + piece * self.grain;
        start..start.saturating_add(self.grain).min(self.range.end)
    }
}

/// One loop in progress.
struct Run<'a, B> {
    body: &'a B,
    pieces: Pieces,
    stop: AtomicBool,
    panic: Lock<Option<Box<dyn Any + Send>>>,
}

impl<B: Body> Run<'_, B> {
    /// Runs the pieces that `pieces` yields, until there are no more or a participant has
    /// stopped the loop.
    fn participate(&self, pieces: impl Iterator<Item = usize>) {
        let ran = panic::catch_unwind(AssertUnwindSafe(|| {
            let mut state = None;
            for piece in pieces.take_while(|_| !self.stop.load(Relaxed)) {
                let state = state.get_or_insert_with(|| self.body.begin());
                if self
                    .body
                    .run(state, piece, self.pieces.items(piece))
                    .is_break()
                {
                    self.stop.store(true, Relaxed);
                }
            }
            if let Some(state) = state {
                self.body.end(state);
            }
        }));
        if let Err(payload) = ran {
            self.stop.store(true, Relaxed);
            self.panic.lock().get_or_insert(payload);
        }
    }

    fn finish(mut self) {
        if let Some(payload) = self.panic.get_mut().take() {
            panic::resume_unwind(payload);
        }
    }
}

fn run_loop<B: Body>(registry: &Arc<Registry>, pieces: Pieces, body: &B) {
    let run = Run {
        body,
        pieces,
        stop: AtomicBool::new(false),
        panic: Lock::new(None),
    };
    let count = run.pieces.count;
    if count <= 1 || registry.num_threads() == 1 && Worker::current_in(registry).is_some() {
        run.participate(0..count);
    } else if decisions::is_on() {
        registry.in_worker(Caller::UNKNOWN, |worker, _| halve(worker, &run, 0..count));
    } else if let Some(reserved) = registry.loop_slot.reserve() {
        share_out(registry, reserved, &run);
    } else {
        registry.in_worker(Caller::UNKNOWN, |worker, _| halve(worker, &run, 0..count));
    }
    run.finish()
}

/// Runs a loop in which every participant takes from its own share, then from the others'.
fn share_out<B: Body>(registry: &Registry, reserved: Reserved<'_>, run: &Run<'_, B>) {
    let cursors: *const [_] = reserved.cursors();
    // SAFETY: they belong to the slot, which outlives `reserved`.
    let cursors = unsafe { &*cursors };
    let (count, shares) = (run.pieces.count, cursors.len().min(run.pieces.count));
    let share = move |index: usize| {
        let start = |index: usize| (count / shares) * index + (count % shares).min(index);
        start(index)..start(index + 1)
    };
    let work = |participant: usize| {
        run.participate((0..shares).flat_map(|step| {
            let index = (participant + step) % shares;
            let (share, cursor) = (share(index), &cursors[index]);
            std::iter::from_fn(move || {
                let left = cursor.load(Relaxed) < share.len();
                let taken = if left {
                    cursor.fetch_add(1, Relaxed)
                } else {
                    usize::MAX
                };
                (taken < share.len()).then(|| share.start + taken)
            })
        }));
    };
    reserved.run(&work, || registry.sleep.injected_for_all());
}

/// Cuts a loop in halves until one piece is left.
fn halve<B: Body>(worker: &Worker, run: &Run<'_, B>, pieces: Range<usize>) {
    if pieces.len() <= 1 {
        return run.participate(pieces);
    }
    let middle = pieces.start + pieces.len() / 2;
    let (left, right) = (pieces.start..middle, middle..pieces.end);
    join_on(
        worker,
        false,
        |worker, _| halve(worker, run, left),
        |worker, _| halve(worker, run, right),
    );
}

#[track_caller]
fn check_chunk(len: usize) {
    assert!(len != 0, "a chunk has at least one item");
}

/// The calling thread takes part even if it is outside.
impl ThreadPool {
    fn pieces(&self, range: Range<usize>, grain: usize) -> Pieces {
        Pieces::new(range, grain, self.registry.num_threads())
    }

    /// Calls `f` with every number of `range`, on this pool's workers and in the calling
    /// thread; see [`for_each`](crate::for_each()).
    ///
    /// # Panics
    ///
    /// Panics if `f` panics.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::pool;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let two = pool::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let count = AtomicUsize::new(0);
    /// two.for_each(0..100, 10, |_| {
    ///     count.fetch_add(1, Ordering::Relaxed);
    /// });
    /// assert_eq!(count.into_inner(), 100);
    /// ```
    pub fn for_each(&self, range: Range<usize>, grain: usize, f: impl Fn(usize) + Sync) {
        self.for_each_init(range, grain, || (), |(), item| f(item));
    }

    /// Calls `f` with every number of `range` until one call returns an error, `None` or
    /// [`ControlFlow::Break`], on this pool's workers and in the calling thread; see
    /// [`try_for_each`](crate::try_for_each()).
    ///
    /// # Panics
    ///
    /// Panics if `f` panics.
    pub fn try_for_each<R: Try + Send>(
        &self,
        range: Range<usize>,
        grain: usize,
        f: impl Fn(usize) -> R + Sync,
    ) -> R {
        let first = Lock::new(None);
        let call = |item| {
            let result = f(item);
            if !result.is_break() {
                return ControlFlow::Continue(());
            }
            first.lock().get_or_insert(result);
            ControlFlow::Break(())
        };
        let run = |(): &mut (), _, mut items: Range<usize>| items.try_for_each(call);
        let pieces = self.pieces(range, grain);
        run_loop(&self.registry, pieces, &(|| (), run, |()| ()));
        first.lock().take().unwrap_or_else(R::from_output)
    }

    /// Calls `f` with every number of `range` and with a state that each participating
    /// thread makes once, on this pool's workers and in the calling thread; see
    /// [`for_each_init`](crate::for_each_init()).
    ///
    /// # Panics
    ///
    /// Panics if `init` or `f` panics.
    pub fn for_each_init<S>(
        &self,
        range: Range<usize>,
        grain: usize,
        init: impl Fn() -> S + Sync,
        f: impl Fn(&mut S, usize) + Sync,
    ) {
        let run = |state: &mut S, _, items: Range<usize>| {
            items.for_each(|item| f(state, item));
            ControlFlow::Continue(())
        };
        run_loop(
            &self.registry,
            self.pieces(range, grain),
            &(init, run, drop),
        );
    }

    /// Calls `f` with every chunk of `len` items of a slice, on this pool's workers and in
    /// the calling thread; see [`for_each_chunk`](crate::for_each_chunk()).
    ///
    /// # Panics
    ///
    /// Panics if `len` is 0, or if `f` panics.
    #[track_caller]
    pub fn for_each_chunk<T: Send>(
        &self,
        slice: &mut [T],
        len: usize,
        f: impl Fn(usize, &mut [T]) + Sync,
    ) {
        check_chunk(len);
        let pieces = self.pieces(0..slice.len(), len);
        let start = AtomicPtr::new(slice.as_mut_ptr());
        let run = |(): &mut (), piece, items: Range<usize>| {
            // SAFETY: the items lie within the slice, and may be sent. Each piece is run once, so no
            // two threads have the same items.
            let chunk = unsafe {
                std::slice::from_raw_parts_mut(start.load(Relaxed).add(items.start), items.len())
            };
            f(piece, chunk);
            ControlFlow::Continue(())
        };
        run_loop(&self.registry, pieces, &(|| (), run, |()| ()));
    }

    /// Applies `map` to every number of `range` and combines the results with `reduce`, on
    /// this pool's workers and in the calling thread; see
    /// [`map_reduce`](crate::map_reduce()).
    ///
    /// # Panics
    ///
    /// Panics if `map` or `reduce` panics.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::pool;
    /// let two = pool::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// assert_eq!(two.map_reduce(0..1001, 0, |n| n, |a, b| a + b), Some(500_500));
    /// ```
    pub fn map_reduce<R: Send>(
        &self,
        range: Range<usize>,
        grain: usize,
        map: impl Fn(usize) -> R + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> Option<R> {
        let mut total = Lock::new(None);
        let both = |a, b| match (a, b) {
            (Some(a), Some(b)) => Some(reduce(a, b)),
            (a, b) => a.or(b),
        };
        let run = |part: &mut Option<R>, _, items: Range<usize>| {
            *part = both(part.take(), items.map(&map).reduce(&reduce));
            ControlFlow::Continue(())
        };
        let end = |part| {
            let mut total = total.lock();
            *total = both(total.take(), part);
        };
        run_loop(
            &self.registry,
            self.pieces(range, grain),
            &(|| None, run, end),
        );
        total.get_mut().take()
    }

    /// Does the same as [`map_reduce`](Self::map_reduce), with the same result every time;
    /// see [`map_reduce_ordered`](crate::map_reduce_ordered()).
    ///
    /// # Panics
    ///
    /// Panics if `map` or `reduce` panics.
    pub fn map_reduce_ordered<R: Send>(
        &self,
        range: Range<usize>,
        grain: usize,
        map: impl Fn(usize) -> R + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> Option<R> {
        let pieces = Pieces::new(range, if grain == 0 { 1024 } else { grain }, 1);
        let parts = Slots::new(pieces.count);
        let run = |(): &mut (), piece, items: Range<usize>| {
            if let Some(part) = items.map(&map).reduce(&reduce) {
                // SAFETY: each piece is run once.
                unsafe { parts.set(piece, part) };
            }
            ControlFlow::Continue(())
        };
        run_loop(&self.registry, pieces, &(|| (), run, |()| ()));
        parts.into_iter().reduce(reduce)
    }
}

/// Calls `f` with every number of `range`, in the current pool: on its workers and in the
/// calling thread.
///
/// The range is cut into pieces of `grain` numbers, which run in any order. With a `grain`
/// of 0, each thread gets about eight pieces. Nothing is allocated. A thread that is in no
/// pool uses the global one.
///
/// # Panics
///
/// Panics if `f` panics: no further piece begins, and the first panic is resumed in the
/// caller.
///
/// # Examples
///
/// ```
/// use blitz_io::pool;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// let sum = AtomicU64::new(0);
/// pool::for_each(0..1000, 100, |n| {
///     sum.fetch_add(n as u64, Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 499_500);
/// ```
pub fn for_each(range: Range<usize>, grain: usize, f: impl Fn(usize) + Sync) {
    with_current(|pool| pool.for_each(range, grain, f));
}

/// Calls `f` with every number of `range` until one call returns an error, `None` or
/// [`ControlFlow::Break`], and returns that. Pieces that have not begun by then are skipped.
///
/// Of several such results, this function returns the first and drops the others. The threads
/// decide which one is first; another item that fails may have a lower number.
///
/// See [`for_each`] for `grain`.
///
/// # Panics
///
/// Panics if `f` panics, even if another call has returned an error.
///
/// # Examples
///
/// ```
/// use blitz_io::pool;
/// use std::ops::ControlFlow;
///
/// let lines = ["1", "2", "three", "4"];
/// let checked = pool::try_for_each(0..lines.len(), 0, |n| match lines[n].parse::<u32>() {
///     Ok(_) => Ok(()),
///     Err(error) => Err(format!("line {}: {error}", n + 1)),
/// });
/// assert_eq!(checked.unwrap_err(), "line 3: invalid digit found in string");
///
/// let found = pool::try_for_each(0..1_000_000, 0, |n| match n {
///     777 => ControlFlow::Break(n),
///     _ => ControlFlow::Continue(()),
/// });
/// assert_eq!(found, ControlFlow::Break(777));
/// ```
pub fn try_for_each<R: Try + Send>(
    range: Range<usize>,
    grain: usize,
    f: impl Fn(usize) -> R + Sync,
) -> R {
    with_current(|pool| pool.try_for_each(range, grain, f))
}

/// Calls `f` with every number of `range` and with a state that each participating thread
/// makes once, with `init`.
///
/// See [`for_each`] for `grain`. A loop that is nested in another one may make a state for
/// each piece.
///
/// # Panics
///
/// Panics if `init` or `f` panics.
///
/// # Examples
///
/// ```
/// use blitz_io::pool;
/// pool::for_each_init(0..1000, 0, Vec::new, |buffer, n| {
///     buffer.clear();
///     buffer.extend_from_slice(&n.to_le_bytes());
/// });
/// ```
pub fn for_each_init<S>(
    range: Range<usize>,
    grain: usize,
    init: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, usize) + Sync,
) {
    with_current(|pool| pool.for_each_init(range, grain, init, f));
}

/// Calls `f` with every chunk of `len` items of a slice, and with the chunk's number. The
/// last chunk may be shorter.
///
/// # Panics
///
/// Panics if `len` is 0, or if `f` panics.
///
/// # Examples
///
/// ```
/// use blitz_io::pool;
/// let mut squares = vec![0; 1000];
/// pool::for_each_chunk(&mut squares, 100, |chunk, items| {
///     for (i, item) in items.iter_mut().enumerate() {
///         *item = (chunk * 100 + i).pow(2);
///     }
/// });
/// assert_eq!(squares[31], 961);
/// ```
#[track_caller]
pub fn for_each_chunk<T: Send>(slice: &mut [T], len: usize, f: impl Fn(usize, &mut [T]) + Sync) {
    // A closure would not pass the caller's place on.
    check_chunk(len);
    with_current(|pool| pool.for_each_chunk(slice, len, f));
}

/// Applies `map` to every number of `range` and combines the results with `reduce`, in any
/// order. Returns `None` if the range is empty.
///
/// If `reduce` is not commutative, as with texts or "the first of two", call
/// [`map_reduce_ordered`]: here the right operand may belong to lower numbers than the left
/// one. Call it as well if `reduce` is not associative, as with floats, and the result is to be the
/// same every time.
///
/// See [`for_each`] for `grain`.
///
/// # Panics
///
/// Panics if `map` or `reduce` panics.
///
/// # Examples
///
/// ```
/// use blitz_io::pool;
/// assert_eq!(pool::map_reduce(0..1001, 0, |n| n, |a, b| a + b), Some(500_500));
/// ```
pub fn map_reduce<R: Send>(
    range: Range<usize>,
    grain: usize,
    map: impl Fn(usize) -> R + Sync,
    reduce: impl Fn(R, R) -> R + Sync,
) -> Option<R> {
    with_current(|pool| pool.map_reduce(range, grain, map, reduce))
}

/// Does the same as [`map_reduce`], but combines the results in the order of the range, so
/// `reduce` need not be commutative: first within pieces of `grain` numbers, then the pieces.
/// The result depends on `grain` alone, and not on the number of threads or on their
/// speed. A `grain` of 0 means 1024.
///
/// Allocates room for one result per piece.
///
/// # Panics
///
/// Panics if `map` or `reduce` panics.
///
/// # Examples
///
/// ```
/// use blitz_io::pool;
/// let text = pool::map_reduce_ordered(0..10, 2, |n| n.to_string(), |a, b| a + &b);
/// assert_eq!(text.unwrap(), "0123456789");
///
/// let sum = || pool::map_reduce_ordered(1..100_000, 1000, |n| 1.0 / n as f64, |a, b| a + b);
/// assert_eq!(sum().unwrap().to_bits(), sum().unwrap().to_bits());
/// ```
pub fn map_reduce_ordered<R: Send>(
    range: Range<usize>,
    grain: usize,
    map: impl Fn(usize) -> R + Sync,
    reduce: impl Fn(R, R) -> R + Sync,
) -> Option<R> {
    with_current(|pool| pool.map_reduce_ordered(range, grain, map, reduce))
}
