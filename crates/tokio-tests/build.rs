//! Copies test files of the packages `tokio` and `tokio-stream` (the versions that `Cargo.lock`
//! names) from where Cargo has unpacked them, so that `tests/` can include them. Nothing of Tokio
//! is kept in this repository.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const FILES: &[&str] = &[
    "duplex_stream",
    "fs",
    "fs_canonicalize_dir",
    "fs_copy",
    "fs_dir",
    "fs_file",
    "fs_file_join_error",
    "fs_link",
    "fs_open_options",
    "fs_open_options_windows",
    "fs_remove_dir_all",
    "fs_remove_file",
    "fs_rename",
    "fs_symlink_dir_windows",
    "fs_symlink_file_windows",
    "fs_try_exists",
    "fs_write",
    "io_async_fd",
    "io_async_read",
    "io_buf_reader",
    "io_buf_writer",
    "io_chain",
    "io_copy",
    "io_copy_bidirectional",
    "io_copy_buf",
    "io_fill_buf",
    "io_driver",
    "io_driver_drop",
    "io_join",
    "io_lines",
    "io_mem_stream",
    "io_panic",
    "io_read",
    "io_read_buf",
    "io_read_exact",
    "io_read_int",
    "io_read_line",
    "io_read_to_end",
    "io_read_to_string",
    "io_read_until",
    "io_repeat",
    "io_sink",
    "io_split",
    "io_take",
    "io_util_empty",
    "io_write",
    "io_write_all",
    "io_write_all_buf",
    "io_write_buf",
    "io_write_int",
    "macros_join",
    "macros_pin",
    "macros_rename_test",
    "macros_select",
    "macros_test",
    "macros_try_join",
    "net_bind_resource",
    "net_lookup_host",
    "net_panic",
    "net_quickack",
    "net_unix_pipe",
    "no_rt",
    "process_arg0",
    "process_change_of_runtime",
    "process_issue_2174",
    "process_issue_42",
    "process_issue_7144",
    "process_issue_8042",
    "process_kill_after_wait",
    "process_kill_on_drop",
    "process_smoke",
    "rt_shutdown_err",
    "signal_ctrl_c",
    "signal_drop_recv",
    "signal_drop_rt",
    "signal_drop_signal",
    "signal_multi_rt",
    "signal_no_rt",
    "signal_notify_both",
    "signal_panic",
    "signal_realtime",
    "signal_twice",
    "signal_usr1",
    "sync_barrier",
    "sync_broadcast",
    "sync_broadcast_weak",
    "sync_errors",
    "sync_mpsc",
    "sync_mpsc_weak",
    "sync_mutex",
    "sync_mutex_owned",
    "sync_notify",
    "sync_notify_owned",
    "sync_once_cell",
    "sync_oneshot",
    "sync_panic",
    "sync_rwlock",
    "sync_semaphore",
    "sync_semaphore_owned",
    "sync_set_once",
    "sync_watch",
    "tcp_accept",
    "tcp_accept_ready",
    "tcp_connect",
    "tcp_echo",
    "tcp_into_split",
    "tcp_into_std",
    "tcp_peek",
    "tcp_shutdown",
    "tcp_socket",
    "tcp_split",
    "tcp_stream",
    "udp",
    "uds_cred",
    "uds_datagram",
    "uds_socket",
    "uds_split",
    "uds_stream",
    "unix_shutdown",
];

/// Those of `tokio-stream`.
const STREAM_FILES: &[&str] = &["mpsc_bounded_stream", "mpsc_unbounded_stream", "watch"];

/// Tests that are not run. The program that includes the file says why.
const LEFT_OUT: &[&str] = &[
    "cancelled_reserve_many_wakes_closed_receiver",
    "drop_then_get_a_signal",
    "exhaust_reading",
    "failed_reserve_many_wakes_closed_receiver",
    "file_debug_fmt",
    "lines_next_line_is_cancel_safe",
    "panic_in_clone",
    "try_exists",
    "try_io_readable",
    "try_io_writable",
];

/// What those have in common.
const SUPPORT: &[&str] = &["io_vec", "leaked_buffers", "mpsc_stream", "panic", "signal"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../../Cargo.lock");
    // Tokio's tests of what it calls unstable, and we do not: `rng_seed`, `unhandled_panic`.
    println!("cargo:rustc-check-cfg=cfg(tokio_unstable)");
    println!("cargo:rustc-cfg=tokio_unstable");
    println!("cargo:rustc-check-cfg=cfg(feature, values(\"io-std\", \"io-uring\"))");

    let copies = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    fs::create_dir_all(copies.join("support")).unwrap();
    let metadata = metadata();
    let copy = |package: &str, file: &str| {
        let tests = folder(&metadata, package).join("tests");
        let path = tests.join(file).with_extension("rs");
        let text = fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
        fs::write(copies.join(file).with_extension("rs"), includable(&text)).unwrap();
    };
    FILES.iter().for_each(|name| copy("tokio", name));
    SUPPORT
        .iter()
        .for_each(|name| copy("tokio", &format!("support/{name}")));
    STREAM_FILES
        .iter()
        .for_each(|name| copy("tokio-stream", name));
}

/// What Cargo knows of the packages in the graph.
fn metadata() -> serde_json::Value {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked"])
        .args(["--filter-platform", &env::var("TARGET").unwrap()])
        .output()
        .expect("cannot run cargo metadata");
    assert!(
        output.status.success(),
        "cargo metadata failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The folder of a package from the registry.
fn folder(metadata: &serde_json::Value, name: &str) -> PathBuf {
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages
        .iter()
        .find(|package| package["name"] == name && package["source"].is_string())
        .unwrap_or_else(|| panic!("the package {name} is not in the graph"));
    let manifest = Path::new(package["manifest_path"].as_str().unwrap());
    manifest.parent().unwrap().to_owned()
}

/// An included file cannot have attributes for the whole of itself. And where a test wants a
/// mock of Tokio's traits, it gets one of ours: see `tests/mock`.
fn includable(text: &str) -> String {
    let mut in_attribute = false;
    let lines = text.lines().filter(|line| {
        let is_inner = in_attribute || line.starts_with("#![") || line.starts_with("//!");
        in_attribute = is_inner && !line.starts_with("//!") && !line.contains(")]") && {
            in_attribute || line.ends_with('(')
        };
        !is_inner
    });
    let mut text: String = lines.flat_map(|line| [line, "\n"]).collect();
    for test in LEFT_OUT {
        for function in [format!("\nasync fn {test}("), format!("\nfn {test}(")] {
            text = text.replace(&function, &format!("\n#[ignore]{function}"));
        }
    }
    // The file is a module here.
    text.replace("crate::time::", "tokio::time::")
        .replace("tokio_test::io::Builder", "crate::mock::Builder")
        .replace(
            "use tokio_test::{assert_ok, io::Builder};",
            "use {crate::mock::Builder, tokio_test::assert_ok};",
        )
}
