//! `pin!`.

/// Pins values to the stack.
///
/// The macro takes the names of local variables, or statements `let name = value;`. Each
/// variable is moved once and then shadowed by a `Pin<&mut T>` of the same name, so that it
/// cannot be moved again. Use it for a future that is polled through a reference, as a
/// branch of `select!` in a loop is.
///
/// [`std::pin::pin!`] does the same for one expression.
///
/// # Examples
///
/// ```
/// use blitz_io::pin;
///
/// # pollster::block_on(async {
/// let answer = async { 42 };
/// pin!(answer);
/// assert_eq!((&mut answer).await, 42);
///
/// pin! {
///     let first = async { 1 };
///     let second = async { 2 };
/// }
/// assert_eq!(first.await + second.await, 3);
/// # });
/// ```
#[macro_export]
macro_rules! pin {
    ($($name:ident),* $(,)?) => { $(
        // The frame owns the value, and the code that wrote it cannot reach it under its
        // name.
        let mut $name = $name;
        // SAFETY: the value's only name is shadowed here, so nothing moves it.
        #[allow(unused_mut)]
        let mut $name = unsafe { ::core::pin::Pin::new_unchecked(&mut $name) };
    )* };
    ($(let $name:ident = $value:expr;)*) => { $(
        let $name = $value;
        $crate::pin!($name);
    )* };
}
