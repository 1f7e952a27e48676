//! `try_join!`.

/// Waits for several futures, in one task, until all are done or one has failed.
///
/// The futures return a [`Result`], all with the same type of error. The macro returns `Ok`
/// with a tuple of the values, or the first error; the other futures are then dropped.
///
/// The futures run concurrently but not in parallel, like those of [`join!`](crate::join),
/// and are polled in the same order: each time a different one first, or with `biased;` in
/// the order written.
///
/// # Cancel safety
///
/// Dropping the future that contains `try_join!`, or an error in one branch, drops all
/// branches, including the values of those that are done.
///
/// # Examples
///
/// ```
/// use blitz_io::try_join;
///
/// async fn parse(text: &str) -> Result<u8, std::num::ParseIntError> {
///     text.parse()
/// }
///
/// # pollster::block_on(async {
/// assert_eq!(try_join!(parse("3"), parse("4")), Ok((3, 4)));
/// assert!(try_join!(biased; parse("3"), parse("four")).is_err());
/// # });
/// ```
#[cfg(doc)]
#[macro_export]
macro_rules! try_join {
    ($(biased;)? $($future:expr),* $(,)?) => {
        unimplemented!()
    };
}

#[cfg(not(doc))]
#[macro_export]
#[doc(hidden)]
macro_rules! try_join {
    ($(biased;)?) => { async { $crate::macros::support::Result::Ok(()) }.await };
    (biased; $($future:expr),+ $(,)?) => {
        $crate::macros::support::try_join_branches!(($crate) (in_order) $(($future))+)
    };
    ($($future:expr),+ $(,)?) => {
        $crate::macros::support::try_join_branches!(($crate) (rotating) $(($future))+)
    };
}
