//! The loops as methods of a pool. The calling thread takes part even if it is outside.

use std::ops::{ControlFlow, Range};

use crate::thread_pool::ThreadPool;

impl ThreadPool {
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
        self.registry.for_each(range, grain, f);
    }

    /// Calls `f` with every number of `range` until one call returns
    /// [`ControlFlow::Break`], on this pool's workers and in the calling thread; see
    /// [`try_for_each`](crate::try_for_each()).
    ///
    /// # Panics
    ///
    /// Panics if `f` panics.
    pub fn try_for_each(
        &self,
        range: Range<usize>,
        grain: usize,
        f: impl Fn(usize) -> ControlFlow<()> + Sync,
    ) -> ControlFlow<()> {
        self.registry.try_for_each(range, grain, f)
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
        self.registry.for_each_init(range, grain, init, f);
    }

    /// Calls `f` with every chunk of `len` items of a slice, on this pool's workers and in
    /// the calling thread; see [`for_each_chunk`](crate::for_each_chunk()).
    ///
    /// # Panics
    ///
    /// Panics if `len` is 0, or if `f` panics.
    pub fn for_each_chunk<T: Send>(
        &self,
        slice: &mut [T],
        len: usize,
        f: impl Fn(usize, &mut [T]) + Sync,
    ) {
        self.registry.for_each_chunk(slice, len, f);
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
        self.registry.map_reduce(range, grain, map, reduce)
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
        self.registry.map_reduce_ordered(range, grain, map, reduce)
    }
}
