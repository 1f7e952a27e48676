//! A child that was forked inherits descriptors, and would keep its parent's locks alive.
//! So each fork closes them in the child (`pthread_atfork`) and advances a generation; a
//! participant whose generation is not that of the process refuses to work.

use std::fs::File;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// A file whose descriptor a forked child does not have.
#[derive(Debug)]
pub(super) struct OwnFile {
    /// `None` only while it is being dropped.
    file: Option<File>,
    generation: u32,
    registered: Option<usize>,
}

impl OwnFile {
    pub(super) fn new(file: File) -> Self {
        watch_forks();
        let registered = register(file.as_raw_fd());
        Self {
            file: Some(file),
            generation: fork_generation(),
            registered,
        }
    }

    pub(super) fn get(&self) -> &File {
        self.file.as_ref().expect("present until it is dropped")
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        let file = self.file.take();
        if self.generation != fork_generation() {
            // The fork closed it; the number may belong to another file by now.
            _ = file.map(IntoRawFd::into_raw_fd);
            return;
        }
        if let Some(index) = self.registered {
            INHERITED[index].store(-1, Ordering::Release);
        }
    }
}

/// The descriptors that a forked child closes. At a fork, any lock may be held by a thread
/// that does not exist in the child, so this is a table of atomics.
static INHERITED: [AtomicI32; 1024] = [const { AtomicI32::new(-1) }; 1024];
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Returns how many forks lie between this process and the one that loaded this library.
#[inline]
pub(crate) fn fork_generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

fn register(fd: i32) -> Option<usize> {
    INHERITED.iter().position(|slot| {
        slot.compare_exchange(-1, fd, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    })
}

fn watch_forks() {
    static ONCE: Once = Once::new();

    extern "C" fn in_child() {
        GENERATION.fetch_add(1, Ordering::Relaxed);
        for slot in &INHERITED {
            let fd = slot.swap(-1, Ordering::AcqRel);
            if fd >= 0 {
                // SAFETY: it was inherited, and the values that own it do not use it in
                // this process any more.
                unsafe { libc::close(fd) };
            }
        }
    }

    ONCE.call_once(|| {
        // SAFETY: the handler uses nothing but atomics and `close`, which a child of a
        // threaded process may use.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}
