//! `select!` and `select_biased!`.
//!
//! The macros bring the arms into one form, one after the other. The form names the end, its
//! index and its result. Then come the kind of the end and its method, the end, the value to be
//! sent, the pattern, and the body. Each name comes from an expansion of its own, so they differ.

/// Waits until one of several operations on [`mpmc`](crate::mpmc) channels is possible,
/// completes it, and evaluates its arm. Blocks the calling thread.
///
/// An arm is one of
///
/// * `recv(receiver) -> result => body`, where `result` is a `Result<T, RecvError>`;
/// * `send(sender, value) -> result => body`, where `result` is a
///   `Result<(), SendError<T>>`; `value` is evaluated only if the arm is chosen;
/// * `default => body`: nothing is possible now;
/// * `default(duration) => body`: no operation became possible within `duration`.
///
/// An operation on a closed channel is possible, and fails. If several are possible, one
/// of them is chosen at random. `select_biased!` takes the first one. For a number of
/// operations that is not known in advance there is [`Select`](crate::mpmc::Select).
///
/// ```
/// use blitz_io::sync::mpmc::{bounded, select, unbounded};
/// use std::time::Duration;
///
/// let (numbers, first) = unbounded();
/// let (words, second) = bounded(1);
/// words.try_send("full").unwrap();
/// numbers.try_send(7).unwrap();
/// select! {
///     recv(first) -> number => assert_eq!(number, Ok(7)),
///     send(words, "more") -> _ => unreachable!("there is no room"),
///     default(Duration::from_secs(1)) => unreachable!("there is a number"),
/// }
/// assert_eq!(second.try_recv(), Ok("full"));
/// ```
#[macro_export]
#[doc(hidden)]
macro_rules! __mpmc_select {
    ($($arms:tt)*) => {
        $crate::__mpmc_select_arms!(new [] [] $($arms)*)
    };
}

/// Does the same as `select!`, but chooses the first operation in the list that is possible.
///
/// ```
/// use blitz_io::sync::mpmc::{select_biased, unbounded};
///
/// let (urgent, first) = unbounded();
/// let (ordinary, second) = unbounded();
/// ordinary.try_send(2).unwrap();
/// urgent.try_send(1).unwrap();
/// let chosen = select_biased! {
///     recv(first) -> value => value,
///     recv(second) -> value => value,
/// };
/// assert_eq!(chosen, Ok(1));
/// ```
#[macro_export]
#[doc(hidden)]
macro_rules! __mpmc_select_biased {
    ($($arms:tt)*) => {
        $crate::__mpmc_select_arms!(new_biased [] [] $($arms)*)
    };
}

#[macro_export]
#[doc(hidden)]
macro_rules! __mpmc_select_arms {
    // The head of an arm.
    ($new:ident $arms:tt $default:tt recv($end:expr $(,)?) -> $result:pat => $($rest:tt)+) => {
        $crate::__mpmc_select_arms!(
            @body $new $arms $default [Receiver recv ($end) () ($result)] $($rest)+)
    };
    ($new:ident $arms:tt $default:tt
        send($end:expr, $value:expr $(,)?) -> $result:pat => $($rest:tt)+) => {
        $crate::__mpmc_select_arms!(
            @body $new $arms $default [Sender send ($end) ($value) ($result)] $($rest)+)
    };
    ($new:ident $arms:tt [] default $(($($timeout:expr)?))? => $($rest:tt)+) => {
        $crate::__mpmc_select_arms!(@body $new $arms [] [($($($timeout)?)?)] $($rest)+)
    };
    // Its body: a block, or an expression with a comma or nothing behind it.
    (@body $new:ident $arms:tt $default:tt $head:tt $body:block, $($rest:tt)*) => {
        $crate::__mpmc_select_arms!(@add $new $arms $default $head ($body) $($rest)*)
    };
    (@body $new:ident $arms:tt $default:tt $head:tt $body:block $($rest:tt)*) => {
        $crate::__mpmc_select_arms!(@add $new $arms $default $head ($body) $($rest)*)
    };
    (@body $new:ident $arms:tt $default:tt $head:tt $body:expr, $($rest:tt)*) => {
        $crate::__mpmc_select_arms!(@add $new $arms $default $head ($body) $($rest)*)
    };
    (@body $new:ident $arms:tt $default:tt $head:tt $body:expr) => {
        $crate::__mpmc_select_arms!(@add $new $arms $default $head ($body))
    };
    // It is added to the others.
    (@add $new:ident $arms:tt [] [($($timeout:expr)?)] $body:tt $($rest:tt)*) => {
        $crate::__mpmc_select_arms!($new $arms [($($timeout)?) $body] $($rest)*)
    };
    (@add $new:ident [$($arms:tt)*] $default:tt
        [$kind:ident $method:ident $end:tt $value:tt $result:tt] $body:tt $($rest:tt)*) => {
        $crate::__mpmc_select_arms!(
            $new [$($arms)* {end index outcome $kind $method $end $value $result $body}]
            $default $($rest)*)
    };
    // There are no more.
    ($new:ident
        [$({$end:ident $index:ident $outcome:ident $kind:ident $method:ident
            ($given:expr) ($($value:expr)?) ($result:pat) ($body:expr)})*]
        [$(($($timeout:expr)?) ($default:expr))?]) => {{
        $(
            let $end = &$given;
            let $end: &$crate::mpmc::$kind<_> = $end;
            let mut $outcome = ::core::option::Option::None;
        )*
        // The selection borrows the ends, which a body may use up.
        {
            #[allow(unused_mut, reason = "there may be no operation")]
            let mut select = $crate::mpmc::Select::$new();
            $(let $index = select.$method($end);)*
            #[allow(unused_variables, reason = "there may be no operation")]
            if let ::core::option::Option::Some(operation) =
                $crate::__mpmc_select_wait!(select $([$($timeout)?])?)
            {
                match operation.index() {
                    $(
                        index if index == $index => {
                            $outcome =
                                ::core::option::Option::Some(operation.$method($end $(, $value)?));
                        }
                    )*
                    _ => ::core::unreachable!("an operation that was not added"),
                }
            }
        }
        $(
            if let ::core::option::Option::Some(outcome) = $outcome {
                match outcome {
                    $result => $body
                }
            } else
        )*
        {
            $crate::__mpmc_select_default!($($default)?)
        }
    }};
    ($new:ident $arms:tt [$($default:tt)+] default $($rest:tt)*) => {
        ::core::compile_error!("there can be only one `default` arm in `select!`")
    };
    ($new:ident $arms:tt $default:tt $($rest:tt)+) => {
        ::core::compile_error!(
            "expected `recv(receiver) -> result => body`, `send(sender, value) -> result => body`, \
             or `default => body`"
        )
    };
}

#[macro_export]
#[doc(hidden)]
macro_rules! __mpmc_select_wait {
    ($select:ident) => {
        ::core::option::Option::Some($select.select())
    };
    ($select:ident []) => {
        $select.try_select().ok()
    };
    ($select:ident [$timeout:expr]) => {
        $select.select_timeout($timeout).ok()
    };
}

#[macro_export]
#[doc(hidden)]
macro_rules! __mpmc_select_default {
    () => {
        ::core::unreachable!("a wait without end that has ended")
    };
    ($default:expr) => {
        $default
    };
}
