//! Constructors that are `const` in production and plain under the model checker, whose
//! atomics register themselves at run time; and implementations that many types share.

/// Declares one function as `const fn`, or as `fn` under the model checker.
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
#[doc(hidden)]
#[macro_export]
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

/// Implements `Debug` for types that show nothing but their names.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_is_name {
    ($(impl $(<$value:ident>)? $type:ident $(<$($parameter:tt),+>)?),+) => {$(
        impl $(<$value>)? std::fmt::Debug for $type $(<$($parameter),+>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($type)).finish_non_exhaustive()
            }
        }
    )+};
}

/// Implements `Debug` for a structure that shows these fields. A last `..` says that there are more.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_fields {
    (
        impl $(<$value:ident $(: $bound:ident)?>)? $type:ident $(<$($parameter:tt),+>)?,
        |$this:ident| { $($field:ident: $shown:expr,)+ .. }
    ) => {
        $crate::debug_fields! {
            @[$($value $(: $bound)?)?] [$type $(<$($parameter),+>)?] $type,
            $this, [$($field: $shown,)+], finish_non_exhaustive
        }
    };
    (
        impl $(<$value:ident $(: $bound:ident)?>)? $type:ident $(<$($parameter:tt),+>)?,
        |$this:ident| { $($field:ident: $shown:expr),+ $(,)? }
    ) => {
        $crate::debug_fields! {
            @[$($value $(: $bound)?)?] [$type $(<$($parameter),+>)?] $type,
            $this, [$($field: $shown,)+], finish
        }
    };
    (
        @[$($value:ident $(: $bound:ident)?)?] [$type:ty] $name:ident,
        $this:ident, [$($field:ident: $shown:expr,)+], $finish:ident
    ) => {
        impl $(<$value $(: std::fmt::$bound)?>)? std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let $this = self;
                f.debug_struct(stringify!($name))
                    $(.field(stringify!($field), &$shown))+
                    .$finish()
            }
        }
    };
}

/// Implements `Debug`, or `Display` and `Error`, of errors, with one text for each case.
#[doc(hidden)]
#[macro_export]
macro_rules! error_text {
    ($($trait:ident for $error:ident $(<$value:ident $(: $bound:ident)?>)? {
        $($case:pat => $text:expr,)+
    })+) => {$(
        impl$(<$value>)? std::fmt::$trait for $error$(<$value>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $($case => std::fmt::$trait::fmt(&$text, f),)+
                }
            }
        }

        $crate::error_text!(@$trait $error $(<$value $(: $bound)?>)?);
    )+};
    (@Display $error:ident $(<$value:ident $(: $bound:ident)?>)?) => {
        impl$(<$value $(: $bound)?>)? std::error::Error for $error$(<$value>)? {}
    };
    (@Debug $error:ident<$value:ident>) => {};
}
