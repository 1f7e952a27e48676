//! `select!`.

/// Waits for the first of several futures to complete, and drops the others.
///
/// Each branch has the form
///
/// ```text
/// <pattern> = <future> (, if <precondition>)? => <handler>,
/// ```
///
/// and `else => <expression>` may follow the branches. The comma after a handler in braces
/// may be omitted. At most 64 branches are allowed.
///
/// 1. The preconditions are evaluated; a branch whose precondition is false is disabled.
/// 2. The expressions for the futures are evaluated, including those of disabled branches.
/// 3. The futures of the enabled branches are polled until one is ready. If its output does
///    not match its pattern, the branch is disabled, and the wait continues.
/// 4. All futures are dropped, and the handler of the ready branch runs. Its value is the
///    value of `select!`.
/// 5. If all branches are disabled, `else` is evaluated.
///
/// Each poll begins with a random branch, so that a branch that is always ready does not
/// starve the others; the random numbers are the runtime's, and are determined by its
/// `rng_seed`. With `biased;` in front, branches are polled in the order written: this
/// costs less and gives some branches priority, but then the caller must make sure that
/// none of them starves.
///
/// A task that has spent its cooperative budget yields before any branch is polled.
///
/// # Panics
///
/// Panics if all branches are disabled and there is no `else`.
///
/// # Cancel safety
///
/// The futures of the branches that are not taken are dropped. In a loop, use futures that
/// lose nothing when they are dropped (the documentation of each function says so under
/// "Cancel safety"), or borrow a future that outlives the loop: `&mut future`, after
/// [`pin!`](crate::pin).
///
/// # Examples
///
/// ```
/// use blitz_io::select;
/// use blitz_io::sync::mpsc;
///
/// # pollster::block_on(async {
/// let (left, mut from_left) = mpsc::channel(1);
/// let (right, mut from_right) = mpsc::channel(1);
/// left.send(1).await.unwrap();
/// right.send(2).await.unwrap();
/// drop((left, right));
///
/// let mut sum = 0;
/// loop {
///     select! {
///         Some(number) = from_left.recv() => sum += number,
///         Some(number) = from_right.recv() => sum += number,
///         else => break, // neither pattern matches: both are closed
///     }
/// }
/// assert_eq!(sum, 3);
/// # });
/// ```
///
/// A future that continues from one `select!` to the next, and a precondition:
///
/// ```
/// use blitz_io::{pin, select};
///
/// # pollster::block_on(async {
/// let shutdown = std::future::pending::<()>();
/// pin!(shutdown);
/// let mut left = 3;
/// loop {
///     select! {
///         biased;
///         () = &mut shutdown => break,
///         () = async {}, if left > 0 => left -= 1,
///         () = async {}, if left == 0 => break,
///     }
/// }
/// assert_eq!(left, 0);
/// # });
/// ```
///
/// At least one branch is needed:
///
/// ```compile_fail
/// # async fn nothing() {
/// blitz_io::select! {}
/// # }
/// ```
#[cfg(doc)]
#[macro_export]
macro_rules! select {
    {
        $(biased;)?
        $($pattern:pat = $future:expr $(, if $precondition:expr)? => $handler:expr,)*
        $(else => $else:expr $(,)?)?
    } => {
        unimplemented!()
    };
}

// The rules with `@` take one branch after the other off the input, into a form that marks
// where each part ends. The rule for a handler in braces comes before the one for an
// expression, because the braces end the branch.
#[cfg(not(doc))]
#[macro_export]
#[doc(hidden)]
macro_rules! select {
    (@ $order:tt {$($done:tt)*} $(else => $else:expr $(,)?)?) => {
        $crate::select!(@@ $order {$($done)*} $(else $else)?)
    };
    (@@ $order:tt {}) => {
        compile_error!("select! requires at least one branch.")
    };
    (@@ $order:tt {} else $else:expr) => { $else };
    (@@ $order:tt {$($done:tt)+}) => {
        $crate::macros::support::select_branches!(
            ($crate) $order
            (panic!("all branches are disabled and there is no else branch"))
            $($done)+
        )
    };
    (@@ $order:tt {$($done:tt)+} else $else:expr) => {
        $crate::macros::support::select_branches!(($crate) $order ($else) $($done)+)
    };

    (@ $order:tt {$($done:tt)*} $p:pat = $f:expr, if $c:expr => $h:block, $($rest:tt)*) => {
        $crate::select!(@ $order {$($done)* (($p) ($f) ($c) ($h))} $($rest)*)
    };
    (@ $order:tt {$($done:tt)*} $p:pat = $f:expr => $h:block, $($rest:tt)*) => {
        $crate::select!(@ $order {$($done)* (($p) ($f) () ($h))} $($rest)*)
    };
    (@ $order:tt {$($done:tt)*} $p:pat = $f:expr, if $c:expr => $h:block $($rest:tt)*) => {
        $crate::select!(@ $order {$($done)* (($p) ($f) ($c) ($h))} $($rest)*)
    };
    (@ $order:tt {$($done:tt)*} $p:pat = $f:expr => $h:block $($rest:tt)*) => {
        $crate::select!(@ $order {$($done)* (($p) ($f) () ($h))} $($rest)*)
    };
    (@ $order:tt {$($done:tt)*} $p:pat = $f:expr, if $c:expr => $h:expr $(, $($rest:tt)*)?) => {
        $crate::select!(@ $order {$($done)* (($p) ($f) ($c) ($h))} $($($rest)*)?)
    };
    (@ $order:tt {$($done:tt)*} $p:pat = $f:expr => $h:expr $(, $($rest:tt)*)?) => {
        $crate::select!(@ $order {$($done)* (($p) ($f) () ($h))} $($($rest)*)?)
    };

    (biased; $($branches:tt)*) => {
        $crate::select!(@ (in_order) {} $($branches)*)
    };
    ($($branches:tt)*) => {
        $crate::select!(@ (random) {} $($branches)*)
    };
}
