//! The library that a program is linked with whose atomic operations are points.

use std::fs;
use std::io::{self, Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The library, as the build script compiled it.
static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/linked.so"));

const NAME: &str = "libblitz_sim_atomics.so";

/// Writes the library into a folder that a program needs for [`Plan::atomics`](crate::Plan::atomics), unless it is there.
/// Returns its path.
///
/// The program is compiled with the thread sanitizer's instrumentation, and linked with this library in place of the
/// sanitizer's own. Rust has the flags `-Zsanitizer=thread -Zexternal-clangrt` for that, and the library is an argument of
/// its linker. In C and C++, only the compiler gets `-fsanitize=thread`. Such a program runs without a simulator, too.
///
/// # Errors
///
/// Fails if the folder cannot be written, and with [`ErrorKind::Unsupported`] where nothing can be simulated.
///
/// ```
/// # #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))] {
/// let folder = std::env::temp_dir().join(format!("blitz-sim-{}", std::process::id()));
/// let library = blitz_io_sim::write_library(&folder).unwrap();
/// assert!(library.is_file());
/// # std::fs::remove_dir_all(folder).unwrap();
/// # }
/// ```
pub fn write_library(folder: impl AsRef<Path>) -> io::Result<PathBuf> {
    if LIBRARY.is_empty() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "this program was built without the simulator, which takes a compiler for Linux on x86-64 with glibc",
        ));
    }
    let folder = folder.as_ref();
    let path = folder.join(NAME);
    if fs::read(&path).is_ok_and(|bytes| bytes == LIBRARY) {
        return Ok(path);
    }
    fs::create_dir_all(folder)?;
    // A program may run with the old one: it keeps that, as the new one is another file.
    static WRITTEN: AtomicUsize = AtomicUsize::new(0);
    let at = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let new = folder.join(format!("{NAME}.{}.{at}", std::process::id()));
    fs::write(&new, LIBRARY)?;
    fs::rename(&new, &path)?;
    Ok(path)
}
