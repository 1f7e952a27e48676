//! Tokio's tests of signals.
//!
//! Left out:
//!
//! | file or test | why |
//! |---|---|
//! | `signal_info` | other systems |
//! | `drop_then_get_a_signal` | a listener here gets the signals that come after it was made; one of Tokio's may get one that came before |

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
    signal_ctrl_c,
    signal_drop_recv,
    signal_drop_rt,
    signal_drop_signal,
    signal_multi_rt,
    signal_no_rt,
    signal_notify_both,
    signal_panic,
    signal_realtime,
    signal_twice,
    signal_usr1,
}
