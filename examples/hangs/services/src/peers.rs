//! A second process, which sends to the service through shared memory and is stopped by a signal.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use blitz_io::ipc::{Barrier, Builder, Route};

/// The first argument of that process.
pub const PEER: &str = "peer";

fn route() -> Builder {
    Route::builder().capacity(2).max_len(16).directory(folder())
}

fn folder() -> PathBuf {
    std::env::temp_dir()
}

fn name(what: &str, run: &str) -> String {
    format!("hanging-services-{what}-{run}")
}

fn meet(run: &str) {
    let both = Barrier::builder(2).directory(folder());
    let mut both = both.open(&name("both", run)).expect("it is ours");
    both.wait().expect("the other process is there");
}

/// Sends nothing, and stops.
pub fn run(run: &str) {
    end_with_parent();
    let images = route().sender(&name("images", run));
    let _images = images.expect("it is ours");
    meet(run);
    // SAFETY: the call has no preconditions.
    unsafe { libc::raise(libc::SIGSTOP) };
    std::thread::sleep(Duration::from_secs(3600));
}

/// Waits for a message of that process.
pub fn receive() {
    let run = std::process::id().to_string();
    let mut peer = Command::new(std::env::current_exe().expect("it runs"));
    peer.args([PEER, &run]).env_remove("BLITZ_INSPECT");
    // It ends with this process.
    drop(peer.spawn().expect("the system has a process"));
    let images = route().receiver(&name("images", &run));
    let mut images = images.expect("it is ours");
    meet(&run);
    _ = images.recv();
}

/// Lets the system kill this process when the service has ended.
fn end_with_parent() {
    // SAFETY: the call has no preconditions.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}
