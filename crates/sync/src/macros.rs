//! Constructors that are `const` in production and plain under the model checker, whose
//! atomics register themselves at run time; and implementations that many types share.

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

/// Implements `Default` by `new`.
macro_rules! default_is_new {
    ($type:ident $(<$parameter:ident>)?) => {
        impl $(<$parameter>)? Default for $type $(<$parameter>)? {
            #[inline]
            fn default() -> Self {
                Self::new()
            }
        }
    };
}

/// Implements `Debug` for a type that shows nothing but its name.
macro_rules! debug_is_name {
    ($type:ident $(<$parameter:ident>)?) => {
        impl $(<$parameter>)? std::fmt::Debug for $type $(<$parameter>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($type)).finish_non_exhaustive()
            }
        }
    };
}

/// Implements the traits of a write-once cell on top of its `new`, `get` and `From<T>`.
macro_rules! cell_traits {
    ($cell:ident) => {
        $crate::macros::default_is_new!($cell<T>);

        impl<T: Clone> Clone for $cell<T> {
            /// A cell with a clone of the value, or an empty one.
            fn clone(&self) -> Self {
                self.get().cloned().map_or_else(Self::new, Self::from)
            }
        }

        impl<T: PartialEq> PartialEq for $cell<T> {
            fn eq(&self, other: &Self) -> bool {
                self.get() == other.get()
            }
        }

        impl<T: Eq> Eq for $cell<T> {}
    };
}

pub(crate) use {cell_traits, const_unless_loom, debug_is_name, default_is_new};
