//! Several futures in one task: `select!`, `join!`, `try_join!`, and `pin!` for those that
//! have to stay where they are.
//!
//! The four are the `tokio` crate's own, with nothing but its feature `macros`: they poll
//! futures, and need no runtime of Tokio's. A program that moves here keeps every corner
//! of their syntax (`biased;`, `else`, preconditions), and a library that uses
//! `tokio::select!` need not be changed.

/// Waits for the first of several futures, and drops the others.
///
/// The macro is [Tokio's](https://docs.rs/tokio/latest/tokio/macro.select.html), whose text
/// follows. It works in every task of ours, and needs no runtime of Tokio's.
///
/// ```
/// use blitz_runtime::{pin, select};
///
/// # pollster::block_on(async {
/// let (left, mut right) = (std::future::pending::<u32>(), Some(1));
/// pin!(left);
/// loop {
///     select! {
///         biased;
///         _ = &mut left => unreachable!(),
///         three = async { 3 }, if right.is_some() => {
///             assert_eq!(three, 3);
///             right = None;
///         }
///         _ = std::future::ready(()), if right.is_none() => break,
///     }
/// }
/// # });
/// ```
#[doc(inline)]
pub use tokio::select;

/// Waits for all of several futures at the same time, in one task.
///
/// The macro is [Tokio's](https://docs.rs/tokio/latest/tokio/macro.join.html), whose text
/// follows.
///
/// ```
/// # pollster::block_on(async {
/// let (sum, product) = blitz_runtime::join!(async { 3 + 4 }, async { 3 * 4 });
/// assert_eq!((sum, product), (7, 12));
/// # });
/// ```
#[doc(inline)]
pub use tokio::join;

/// Waits until all of several futures have succeeded, or one of them has failed.
///
/// The macro is [Tokio's](https://docs.rs/tokio/latest/tokio/macro.try_join.html), whose
/// text follows.
///
/// ```
/// # pollster::block_on(async {
/// let both = blitz_runtime::try_join!(async { "3".parse::<u8>() }, async { "x".parse::<u8>() });
/// assert!(both.is_err());
/// # });
/// ```
#[doc(inline)]
pub use tokio::try_join;

/// Pins futures to the place where they are.
///
/// The macro is [Tokio's](https://docs.rs/tokio/latest/tokio/macro.pin.html), whose text
/// follows.
///
/// ```
/// # pollster::block_on(async {
/// blitz_runtime::pin! { let answer = async { 42 }; }
/// assert_eq!((&mut answer).await, 42);
/// # });
/// ```
#[doc(inline)]
pub use tokio::pin;

pub use blitz_macros::{main, test};
