//! An implementation that many types share.

/// Implements `Named` for a type, with the path of its field that has the name.
#[doc(hidden)]
#[macro_export]
macro_rules! named {
    ($type:ident $(<$parameter:ident>)?: $($field:ident).+) => {
        impl $(<$parameter>)? $crate::Named for $type $(<$parameter>)? {
            fn inspected(&self) -> &$crate::Object {
                &self.$($field).+
            }
        }
    };
}
