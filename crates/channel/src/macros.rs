//! The implementations that all channels repeat.

/// Implements `Display` or `Debug` of errors, with one text for each case.
macro_rules! error_text {
    ($($trait:ident for $error:ident $(<$value:ident>)? { $($case:pat => $text:expr,)+ })+) => {$(
        impl$(<$value>)? std::fmt::$trait for $error$(<$value>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $($case => std::fmt::$trait::fmt(&$text, f),)+
                }
            }
        }
    )+};
}

/// Implements `Debug`, which shows nothing but the name of the type.
macro_rules! opaque_debug {
    ($($name:ident<$($parameter:tt),+>),+) => {$(
        impl<T> std::fmt::Debug for $name<$($parameter),+> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )+};
}

pub(crate) use {error_text, opaque_debug};
