//! The tests of `tokio-stream` for the wrappers that `blitz-io` has, too. (Its tests of the
//! combinators test `tokio-stream` itself.)

// The code is Tokio's, for Tokio's lints.
#![allow(clippy::all, dead_code, rust_2018_idioms, unused)]

/// Under the name that the tests use.
mod tokio_stream {
    pub use futures::StreamExt;
    pub use tokio::stream::*;
}

macro_rules! tests_of_tokio_stream {
    ($($file:ident),* $(,)?) => {$(
        mod $file {
            use crate::tokio_stream;

            include!(concat!(env!("OUT_DIR"), "/", stringify!($file), ".rs"));
        }
    )*};
}

tests_of_tokio_stream! {
    mpsc_bounded_stream,
    mpsc_unbounded_stream,
    watch,
}
