//! Several futures in one task: `select!`, `join!`, `try_join!`, and `pin!` for those that
//! have to stay where they are.
//!
//! The four are the `tokio` crate's own, with nothing but its feature `macros`: they poll
//! futures, and need no runtime of Tokio's. A program that moves here keeps every corner
//! of their syntax (`biased;`, `else`, preconditions), and a library that uses
//! `tokio::select!` need not be changed.
//!
//! `select!` has something of ours before it. A task that has used up its
//! [budget](crate::task::coop) is told "nothing there" by whatever it asks; `select!` would
//! then take another branch, though the first one has something. Tokio's macro looks at the
//! budget before it looks at the branches, but at that of Tokio's runtime. So ours looks at
//! ours, and lets other tasks run first if nothing is left.
//!
//! ```
//! use blitz_runtime::{join, pin, try_join};
//!
//! # pollster::block_on(async {
//! let (sum, product) = join!(async { 3 + 4 }, async { 3 * 4 });
//! assert_eq!((sum, product), (7, 12));
//!
//! let both = try_join!(async { "3".parse::<u8>() }, async { "x".parse::<u8>() });
//! assert!(both.is_err());
//!
//! pin! { let answer = async { 42 }; }
//! assert_eq!((&mut answer).await, 42);
//! # });
//! ```

pub use blitz_macros::{main, test};
#[doc(inline)]
pub use tokio::{join, pin, try_join};

pub use crate::select;

/// Waits for the first of several futures, and drops the others.
///
/// The macro has [Tokio's](https://docs.rs/tokio/latest/tokio/macro.select.html) syntax and
/// semantics, all of them: each branch is `pattern = future, if precondition => handler`; a
/// branch whose precondition is false or whose pattern does not match is out; `else` is for
/// when all are; `biased;` polls them in the order in which they are written, and not in a
/// random one.
///
/// # Panics
///
/// When all branches are out and there is no `else`.
///
/// # Cancel safety
///
/// The futures of the branches that were not taken are dropped where they stand. Use futures
/// in it that lose nothing thereby, or borrow one that goes on (`&mut future`).
///
/// # Examples
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
#[macro_export]
macro_rules! select {
    ($($branches:tt)*) => {{
        $crate::macros::support::budget().await;
        $crate::macros::support::select! { $($branches)* }
    }};
}

/// What the macros call.
#[doc(hidden)]
pub mod support {
    use std::future::poll_fn;
    use std::task::{Poll, ready};

    use crate::task::coop;

    pub use tokio::select;

    /// Waits until the task has something left of its budget, and takes nothing.
    #[inline]
    pub async fn budget() {
        if !coop::has_budget_remaining() {
            others_first().await;
        }
    }

    #[cold]
    async fn others_first() {
        poll_fn(|context| {
            let unit = ready!(coop::poll_proceed(context));
            drop(unit);
            Poll::Ready(())
        })
        .await;
    }
}
