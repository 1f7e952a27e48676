//! Tokio's tests of child processes.
//!
//! Left out:
//!
//! | file or test | why |
//! |---|---|
//! | `process_raw_handle` | Windows |

#![cfg(unix)]
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
    process_arg0,
    process_change_of_runtime,
    process_issue_2174,
    process_issue_42,
    process_issue_7144,
    process_issue_8042,
    process_kill_after_wait,
    process_kill_on_drop,
    process_smoke,
}
