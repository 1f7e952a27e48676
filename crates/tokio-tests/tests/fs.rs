//! Tokio's tests of files.
//!
//! Left out:
//!
//! | file | why |
//! |---|---|
//! | `fs_uring_*` | what Tokio calls unstable |
//! | `file_debug_fmt` | it wants the path `tokio::fs::File` in the output |
//! | `try_exists` | it fails for root, whom permissions do not stop: with Tokio, too |

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
    fs,
    fs_canonicalize_dir,
    fs_copy,
    fs_dir,
    fs_file,
    fs_file_join_error,
    fs_link,
    fs_open_options,
    fs_remove_dir_all,
    fs_remove_file,
    fs_rename,
    fs_try_exists,
    fs_write,
}

#[cfg(windows)]
tests_of_tokio! {
    fs_open_options_windows,
    fs_symlink_dir_windows,
    fs_symlink_file_windows,
}
