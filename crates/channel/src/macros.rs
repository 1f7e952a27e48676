//! The implementations that all channels repeat.

/// Implements `Debug`, or `Display` and `Error`, of errors, with one text for each case.
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

        crate::macros::error_text!(@$trait $error $(<$value $(: $bound)?>)?);
    )+};
    (@Display $error:ident $(<$value:ident $(: $bound:ident)?>)?) => {
        impl$(<$value $(: $bound)?>)? std::error::Error for $error$(<$value>)? {}
    };
    (@Debug $error:ident<$value:ident>) => {};
}

pub(crate) use error_text;
