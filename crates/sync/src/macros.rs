//! One macro for constructors: `const` in production, plain under the model
//! checker, whose atomics register themselves at run time.

/// Declares one function as `pub const fn`, or as `pub fn` under `cfg(loom)`.
///
/// The function is written as usual, with its documentation and its other
/// attributes, and with `const`.
#[doc(hidden)]
#[macro_export]
macro_rules! const_unless_loom {
    ($(#[$attribute:meta])* $visibility:vis const fn $($rest:tt)*) => {
        $(#[$attribute])*
        #[cfg(not(loom))]
        $visibility const fn $($rest)*

        $(#[$attribute])*
        #[cfg(loom)]
        #[allow(clippy::new_without_default, reason = "the const one has no need of it")]
        $visibility fn $($rest)*
    };
}

pub(crate) use const_unless_loom;
