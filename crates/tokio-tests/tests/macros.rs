//! Tokio's tests of its macros, with `blitz-io` under the name `tokio`. (That name is found
//! by the attributes in this package's `Cargo.toml`, so renaming is tested, too.)
//!
//! No test is left out.

// The code is Tokio's, for Tokio's lints.
#![allow(clippy::all, dead_code, rust_2018_idioms, unused)]

macro_rules! tests_of_tokio {
    ($($file:ident),* $(,)?) => {$(
        mod $file {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($file), ".rs"));
        }
    )*};
}

tests_of_tokio! {
    macros_join,
    macros_pin,
    macros_rename_test,
    macros_select,
    macros_test,
    macros_try_join,
}
