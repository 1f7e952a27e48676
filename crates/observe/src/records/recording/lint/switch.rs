//! The switch of the recorder.

use std::env;
use std::sync::atomic::{AtomicU8, Ordering};

use super::file;

/// The variable of the environment with the folder for the files.
const FOLDER: &str = "BLITZ_LINT";

const OFF: u8 = 0;
const UNKNOWN: u8 = 1;
const ON: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Returns `true` if the recorder is on.
#[inline]
pub(in crate::records) fn is_on() -> bool {
    STATE.load(Ordering::Relaxed) != OFF && is_asked()
}

#[cold]
#[inline(never)]
fn is_asked() -> bool {
    if STATE.load(Ordering::Relaxed) == ON {
        return true;
    }
    // Off while one thread looks: the look itself may take locks.
    let is_first = STATE
        .compare_exchange(UNKNOWN, OFF, Ordering::Relaxed, Ordering::Relaxed)
        .is_ok();
    let folder = is_first.then(|| env::var_os(FOLDER)).flatten();
    let is_on =
        folder.is_some_and(|folder| !folder.is_empty() && file::write_at_exit(folder, stop));
    if is_on {
        STATE.store(ON, Ordering::Relaxed);
    }
    is_on
}

/// Switches the recorder off.
fn stop() {
    STATE.store(OFF, Ordering::Relaxed);
}
