//! Tokio's tests of what is built on the traits of `io` alone.
//!
//! Left out:
//!
//! | file | why |
//! |---|---|
//! | `io_async_fd`, `io_copy_bidirectional`, `io_driver`, `io_driver_drop`, `io_panic` | they need a driver: see `net.rs` |
//! | `io_emscripten`, `io_poll_aio` | other systems |
//! | `lines_next_line_is_cancel_safe` | its mock sleeps, and with Tokio's timer |

// The code is Tokio's, for Tokio's lints.
#![allow(clippy::all, dead_code, rust_2018_idioms, unused)]

mod mock;

macro_rules! tests_of_tokio {
    ($($file:ident),* $(,)?) => {$(
        mod $file {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($file), ".rs"));
        }
    )*};
}

tests_of_tokio! {
    duplex_stream,
    io_async_read,
    io_buf_reader,
    io_buf_writer,
    io_chain,
    io_copy,
    io_copy_buf,
    io_fill_buf,
    io_join,
    io_lines,
    io_mem_stream,
    io_read,
    io_read_buf,
    io_read_exact,
    io_read_int,
    io_read_line,
    io_read_to_end,
    io_read_to_string,
    io_read_until,
    io_repeat,
    io_sink,
    io_split,
    io_take,
    io_util_empty,
    io_write,
    io_write_all,
    io_write_all_buf,
    io_write_buf,
    io_write_int,
}
