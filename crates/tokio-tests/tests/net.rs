//! Tokio's tests of sockets, pipes and the driver.
//!
//! Left out:
//!
//! | file or test | why |
//! |---|---|
//! | `net_named_pipe` | another system's |
//! | `io_fill_buf` | it needs files |
//! | `try_io_readable`, `try_io_writable` | they expect that one `yield_now` polls the driver; here it is polled after `event_interval` polls, or when there is nothing to do |

// The code is Tokio's, for Tokio's lints.
#![allow(clippy::all, dead_code, rust_2018_idioms, unused)]
#![cfg(target_os = "linux")]

mod mock;

macro_rules! tests_of_tokio {
    ($($file:ident),* $(,)?) => {$(
        mod $file {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($file), ".rs"));
        }
    )*};
}

tests_of_tokio! {
    io_async_fd,
    io_copy_bidirectional,
    io_driver,
    io_driver_drop,
    io_panic,
    net_bind_resource,
    net_lookup_host,
    net_panic,
    net_quickack,
    net_unix_pipe,
    no_rt,
    rt_shutdown_err,
    tcp_accept,
    tcp_accept_ready,
    tcp_connect,
    tcp_echo,
    tcp_into_split,
    tcp_into_std,
    tcp_peek,
    tcp_shutdown,
    tcp_socket,
    tcp_split,
    tcp_stream,
    udp,
    uds_cred,
    uds_datagram,
    uds_socket,
    uds_split,
    uds_stream,
    unix_shutdown,
}
