//! `join!`.

/// Waits for several futures, in one task, until all of them are done, and returns their
/// outputs as a tuple.
///
/// The futures run concurrently but not in parallel: one that blocks the thread blocks the
/// others. For parallel work, [spawn](crate::spawn) tasks and join their handles. Futures
/// that return a `Result` are all awaited even if one fails; [`try_join!`](crate::try_join)
/// stops at the first error.
///
/// Each time the task is polled, a different future is polled first. With `biased;` in
/// front, the futures are polled in the order written; then the caller must make sure that
/// none of them starves.
///
/// The futures are stored in the caller's future. Nothing is allocated.
///
/// # Cancel safety
///
/// Dropping the future that contains `join!` drops all branches, including the outputs of
/// those that are done.
///
/// # Examples
///
/// ```
/// use blitz_io::join;
///
/// async fn width() -> u32 { 3 }
/// async fn height() -> u32 { 4 }
///
/// # pollster::block_on(async {
/// let (width, height) = join!(width(), height());
/// assert_eq!(width * height, 12);
///
/// let (first, second) = join!(biased; async { 1 }, async { 2 });
/// assert_eq!((first, second), (1, 2));
/// # });
/// ```
#[cfg(doc)]
#[macro_export]
macro_rules! join {
    ($(biased;)? $($future:expr),* $(,)?) => {
        unimplemented!()
    };
}

#[cfg(not(doc))]
#[macro_export]
#[doc(hidden)]
macro_rules! join {
    ($(biased;)?) => { async {}.await };
    (biased; $($future:expr),+ $(,)?) => {
        $crate::macros::support::join_branches!(($crate) (in_order) $(($future))+)
    };
    ($($future:expr),+ $(,)?) => {
        $crate::macros::support::join_branches!(($crate) (rotating) $(($future))+)
    };
}
