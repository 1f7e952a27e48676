//! The files that recorders write when the process exits: `PID.SUFFIX` in a folder. A file is written under another
//! name first, so that a reader finds whole files only.

use std::ffi::{OsString, c_int};
use std::path::PathBuf;
use std::sync::{Mutex, Once, PoisonError};
use std::{fs, process};

use super::switch::Recorder;

/// The files of this process, which a forked child has, too: it writes its own.
static FILES: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// A file that the process writes when it exits.
#[derive(Clone)]
struct File {
    recorder: Recorder,
    folder: PathBuf,
    suffix: &'static str,
    /// Returns the contents.
    text: fn() -> String,
}

/// Makes the process write a file into this folder when it exits. Returns `false` if it cannot.
pub(super) fn write(
    recorder: Recorder,
    folder: OsString,
    suffix: &'static str,
    text: fn() -> String,
) -> bool {
    static ONCE: Once = Once::new();
    let mut is_registered = true;
    // SAFETY: the function takes nothing and returns nothing, and does not unwind.
    ONCE.call_once(|| is_registered = unsafe { atexit(write_all) == 0 });
    let file = File {
        recorder,
        folder: folder.into(),
        suffix,
        text,
    };
    FILES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(file);
    is_registered
}

unsafe extern "C" {
    // <stdlib.h>, in the C runtime of every system.
    fn atexit(function: extern "C" fn()) -> c_int;
}

extern "C" fn write_all() {
    // Without this, a panic would end the process in another way than the program did.
    _ = std::panic::catch_unwind(|| {
        // A forked child may have the lock of a thread that it does not have.
        let Ok(files) = FILES.try_lock().map(|files| files.clone()) else {
            return;
        };
        files.iter().for_each(File::write);
    });
}

impl File {
    fn write(&self) {
        self.recorder.stop();
        let pid = process::id();
        let whole = self.folder.join(format!("{pid}.{}", self.suffix));
        let part = self.folder.join(format!("{pid}.part"));
        // If the folder cannot be written, no other program waits for the file.
        if fs::write(&part, (self.text)()).is_ok() {
            _ = fs::rename(part, whole);
        }
    }
}
