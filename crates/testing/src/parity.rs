//! Helpers for scenarios that are compiled twice, with other libraries and with this
//! workspace's crates.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Tells whether a type has a trait.
///
/// ```
/// assert!(blitz_io_testing::implements!(u32: Send));
/// assert!(!blitz_io_testing::implements!(std::rc::Rc<u32>: Send));
/// ```
#[macro_export]
macro_rules! implements {
    ($t:ty: $($bound:tt)+) => {{
        #[allow(dead_code)]
        trait No {
            const IS: bool = false;
        }
        impl<T: ?Sized> No for T {}
        #[allow(dead_code)]
        struct Of<T: ?Sized>(::std::marker::PhantomData<T>);
        #[allow(dead_code)]
        impl<T: ?Sized + $($bound)+> Of<T> {
            const IS: bool = true;
        }
        <Of<$t>>::IS
    }};
}

/// Lists which of the automatic traits a type has: `Send`, `Sync`, `Unpin`, `UnwindSafe`
/// and `RefUnwindSafe`.
#[macro_export]
macro_rules! traits_of {
    ($t:ty) => {
        [
            $crate::implements!($t: Send),
            $crate::implements!($t: Sync),
            $crate::implements!($t: Unpin),
            $crate::implements!($t: ::std::panic::UnwindSafe),
            $crate::implements!($t: ::std::panic::RefUnwindSafe),
        ]
    };
}

/// Defines tests that compare the observations of each scenario in the modules `of_tokio`
/// and `ours`.
///
/// With `--cfg ours_alone` they only run ours. The steps for sanitizers and other systems set that:
/// they do not test Tokio, whose half takes as long to compile.
#[macro_export]
macro_rules! the_same {
    ($($scenario:ident)*) => { $(
        #[test]
        fn $scenario() {
            if cfg!(ours_alone) {
                ours::$scenario();
            } else {
                $crate::assert_same(&of_tokio::$scenario(), &ours::$scenario());
            }
        }
    )* };
}

/// Defines the same for scenarios that use random numbers, several times each.
#[macro_export]
macro_rules! the_same_whatever_happens {
    ($($scenario:ident)*) => { $(
        #[test]
        fn $scenario() {
            for seed in 0..120 {
                if cfg!(ours_alone) {
                    ours::$scenario(seed);
                } else {
                    $crate::assert_same(&of_tokio::$scenario(seed), &ours::$scenario(seed));
                }
            }
        }
    )* };
}

/// Appends the `Debug` output of values to a list of texts.
///
/// ```
/// let mut seen = Vec::new();
/// blitz_io_testing::log!(seen, 1, "one");
/// assert_eq!(seen, [r#"(1, "one")"#]);
/// ```
#[macro_export]
macro_rules! log {
    ($log:expr, $($what:expr),+ $(,)?) => { $log.push(format!("{:?}", ($($what,)+))) };
}

/// Returns the panic message of `run`, and whether it was a formatted text.
pub fn panic_of<R>(run: impl FnOnce() -> R) -> String {
    let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(run()))) else {
        return "no panic".into();
    };
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => match panic.downcast_ref::<&str>() {
            Some(text) => format!("literally: {text}"),
            None => "something else".into(),
        },
    }
}

/// Removes from a message of this workspace the text that goes beyond Tokio's, which is in
/// parentheses that begin with the name.
fn without_help(text: &str) -> String {
    match text.split_once(" (blitz-io: ") {
        Some((before, help)) => {
            let (_, after) = help.split_once(')').expect("the parentheses end");
            format!("{before}{after}")
        }
        None => text.into(),
    }
}

/// Asserts that both saw the same, apart from the text that this workspace's messages add
/// to Tokio's, and that they saw something.
///
/// # Panics
///
/// Panics otherwise.
#[track_caller]
pub fn assert_same(theirs: &[String], ours: &[String]) {
    assert!(!theirs.is_empty());
    for (line, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
        assert_eq!(*theirs, without_help(ours), "Tokio's and ours, line {line}");
    }
    assert_eq!(theirs.len(), ours.len());
}

/// Pseudorandom numbers that are the same each time.
pub struct Dice(
    /// The seed.
    pub u64,
);

impl Dice {
    /// Returns the next number, which is below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}
