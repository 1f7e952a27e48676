//! A child that was forked inherits descriptors, and would keep its parent's locks alive.
//! So each fork closes them in the child (`pthread_atfork`) and advances the generation of
//! `blitz-io-core`; a participant whose generation is not that of the process refuses to work.
//!
//! **Memory.** A mapping refers to the open file description from which it was made, and a
//! child inherits it. So no description is mapped that has locks, or will have any:
//! `Segment::map` gets another one.
//!
//! **A fork in another thread**, after a file was opened and before it is in the table,
//! gives the child a descriptor that it does not close. [`OwnFile::open`] notices that, and
//! opens the file again: the child has a description that will never have a lock.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};
use std::thread;

use blitz_io_core::generation;

/// How often a file is opened again, or a fork is waited for. A fork could wait for a lock
/// that the caller holds, so the wait has an end.
const ATTEMPTS: usize = 10_000;

/// A file whose descriptor a forked child does not have.
#[derive(Debug)]
pub(super) struct OwnFile {
    /// `None` only while it is being dropped.
    file: Option<File>,
    generation: u32,
    entry: &'static AtomicI32,
}

impl OwnFile {
    /// Opens a file with `open`, and calls it again if this process has forked during that.
    pub(super) fn open(mut open: impl FnMut() -> io::Result<File>) -> io::Result<Self> {
        watch_forks();
        for _ in 0..ATTEMPTS {
            let forks = Forks::when_none_is_going_on();
            if forks.is_none() {
                thread::yield_now();
                continue;
            }
            let own = Self::register(open()?);
            if Forks::when_none_is_going_on() == forks {
                return Ok(own);
            }
        }
        open().map(Self::register)
    }

    fn register(file: File) -> Self {
        Self {
            entry: INHERITED.register(file.as_raw_fd()),
            file: Some(file),
            generation: generation(),
        }
    }

    pub(super) fn get(&self) -> &File {
        self.file.as_ref().expect("present until it is dropped")
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        let file = self.file.take();
        if self.generation != generation() {
            // The fork closed it; the number may belong to another file by now.
            _ = file.map(IntoRawFd::into_raw_fd);
            return;
        }
        self.entry.store(FREE, Ordering::Release);
    }
}

/// How many forks this process has begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Forks(u32);

impl Forks {
    /// Returns `None` while a thread forks.
    fn when_none_is_going_on() -> Option<Self> {
        let ended = ENDED.load(Ordering::SeqCst);
        (BEGUN.load(Ordering::SeqCst) == ended).then_some(Self(ended))
    }
}

/// The descriptors that a forked child closes. At a fork, any lock may be held by a thread
/// that does not exist in the child, so this is a list of tables of atomics. The tables
/// after the first are never freed.
#[derive(Debug)]
struct Table {
    entries: [AtomicI32; 256],
    next: AtomicPtr<Table>,
}

/// No descriptor.
const FREE: i32 = -1;

impl Table {
    const fn new() -> Self {
        Self {
            entries: [const { AtomicI32::new(FREE) }; 256],
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    fn next(&self) -> Option<&'static Self> {
        // SAFETY: null, or a table that `register` has leaked.
        unsafe { self.next.load(Ordering::Acquire).as_ref() }
    }

    fn register(&'static self, fd: i32) -> &'static AtomicI32 {
        let mut table = self;
        loop {
            let free = table.entries.iter().find(|entry| {
                let taken = entry.compare_exchange(FREE, fd, Ordering::SeqCst, Ordering::Relaxed);
                taken.is_ok()
            });
            if let Some(entry) = free {
                return entry;
            }
            table = table.next().unwrap_or_else(|| table.extend());
        }
    }

    /// Returns the table after this one, which another thread may add first.
    #[cold]
    fn extend(&self) -> &'static Self {
        let new = Box::into_raw(Box::new(Self::new()));
        let added =
            self.next
                .compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire);
        let next = match added {
            Ok(_) => new,
            Err(other) => {
                // SAFETY: it was made above, and no other thread has seen it.
                drop(unsafe { Box::from_raw(new) });
                other
            }
        };
        // SAFETY: a table in the list is never freed.
        unsafe { &*next }
    }

    /// Takes all descriptors out.
    fn drain(&'static self, mut take: impl FnMut(i32)) {
        let mut table = Some(self);
        while let Some(this) = table {
            for entry in &this.entries {
                let fd = entry.swap(FREE, Ordering::AcqRel);
                if fd != FREE {
                    take(fd);
                }
            }
            table = this.next();
        }
    }
}

static INHERITED: Table = Table::new();
/// How many forks this process has begun, and how many of them have ended.
static BEGUN: AtomicU32 = AtomicU32::new(0);
static ENDED: AtomicU32 = AtomicU32::new(0);

fn watch_forks() {
    static ONCE: Once = Once::new();

    extern "C" fn before() {
        BEGUN.fetch_add(1, Ordering::SeqCst);
    }

    extern "C" fn in_parent() {
        ENDED.fetch_add(1, Ordering::SeqCst);
    }

    extern "C" fn in_child() {
        // Forks of other threads go on in the parent only.
        ENDED.store(BEGUN.load(Ordering::SeqCst), Ordering::SeqCst);
        // SAFETY: each was inherited, and the values that own it do not use it in this
        // process any more.
        INHERITED.drain(|fd| _ = unsafe { libc::close(fd) });
    }

    blitz_io_core::watch_forks();
    ONCE.call_once(|| {
        // SAFETY: the handlers use nothing but atomics and `close`, which a child of a
        // threaded process may use.
        unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_descriptors_is_registered() {
        static TABLE: Table = Table::new();
        let table = &TABLE;
        let entries: Vec<_> = (0..3000).map(|fd| table.register(fd)).collect();
        entries[7].store(FREE, Ordering::Relaxed);
        table.register(3000);
        let mut found = Vec::new();
        table.drain(|fd| found.push(fd));
        found.sort_unstable();
        assert!(found.iter().copied().eq((0..=3000).filter(|&fd| fd != 7)));
        table.drain(|fd| panic!("{fd} twice"));
    }

    /// As if another thread had forked between opening and registering.
    #[test]
    fn a_file_that_a_child_may_have_inherited_is_opened_again() {
        let mut opened = 0;
        let own = OwnFile::open(|| {
            opened += 1;
            let file = File::open("/dev/null");
            if opened == 1 {
                // SAFETY: the child ends at once.
                let pid = unsafe { libc::fork() };
                if pid == 0 {
                    // SAFETY: ends the child.
                    unsafe { libc::_exit(0) };
                }
                // SAFETY: it is a child of this process.
                unsafe { libc::waitpid(pid, ptr::null_mut(), 0) };
            }
            file
        });
        assert!(own.unwrap().get().metadata().is_ok());
        assert!(opened > 1);
    }
}
