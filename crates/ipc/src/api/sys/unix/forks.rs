//! A child that was forked inherits descriptors, and would keep its parent's locks alive.
//! So each fork closes them in the child (`pthread_atfork`) and advances the generation of
//! `blitz-io-core`; a participant whose generation is not that of the process refuses to work.
//!
//! **Memory.** A mapping refers to the open file description from which it was made, and a
//! child inherits it. So no description is mapped that has locks, or will have any:
//! `Segment::map` gets another one.
//!
//! **A fork in another thread**, while a descriptor is open and not in the table, would give
//! the child one that it does not close. So a thread opens and enters a file, and removes and
//! closes it, in a [`Step`], and no fork happens in between:
//!
//! 1. A step counts itself in `STEPS`, and then looks for a fork that has begun. If there is
//!    one, it withdraws until that fork has ended.
//! 2. A fork counts itself in `BEGUN`, and then waits until `STEPS` is 0.
//! 3. These four accesses are sequentially consistent, so a fork and a step never both pass.
//!
//! Both waits have an end, because a fork may hold a lock that a step needs, for example one of
//! the allocator. If a fork has not waited for a step, [`OwnFile::open`] notices that, and opens
//! the file again: the child keeps a description that will never have a lock.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};
use std::time::Duration;

use blitz_io_core::{generation, looks};

/// Maximum number of attempts to open a file, or to wait for a fork or a step.
const ATTEMPTS: usize = 10_000;
/// The pause before the next attempt.
const PAUSE: Duration = Duration::from_micros(50);

/// Waits until the condition holds. Returns `false` after [`ATTEMPTS`].
fn wait_deadline(mut holds: impl FnMut() -> bool) -> bool {
    for _ in 0..ATTEMPTS {
        if holds() {
            return true;
        }
        looks::sleep(PAUSE, None);
    }
    false
}

/// A file whose descriptor a forked child does not have.
#[derive(Debug)]
pub(super) struct OwnFile {
    /// `None` only while it is being dropped.
    file: Option<File>,
    generation: u32,
    entry: &'static AtomicI32,
}

impl OwnFile {
    /// Opens a file with `open`, and calls it again if a fork has not waited for that.
    pub(super) fn open(mut open: impl FnMut() -> io::Result<File>) -> io::Result<Self> {
        watch_forks();
        for _ in 0..ATTEMPTS {
            let step = Step::begin();
            let own = Self::register(open()?);
            let was_alone = step.was_alone();
            // Before the file is dropped, which is a step too.
            drop(step);
            if was_alone {
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
        let _step = Step::begin();
        self.entry.store(FREE, Ordering::Release);
        drop(file);
    }
}

/// A step of a thread during which no other thread forks. The top of this file has the reason.
struct Step {
    /// `None` if it did not wait for a fork to end.
    intrusions: Option<u32>,
    generation: u32,
}

impl Step {
    fn begin() -> Self {
        let begins = wait_deadline(|| {
            STEPS.fetch_add(1, Ordering::SeqCst);
            let begins = !is_forking();
            if !begins {
                STEPS.fetch_sub(1, Ordering::SeqCst);
            }
            begins
        });
        if !begins {
            STEPS.fetch_add(1, Ordering::SeqCst);
        }
        Self {
            intrusions: begins.then(|| INTRUSIONS.load(Ordering::SeqCst)),
            generation: generation(),
        }
    }

    /// Returns `true` if all forks have waited for this step.
    fn was_alone(&self) -> bool {
        self.intrusions == Some(INTRUSIONS.load(Ordering::SeqCst))
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        // In a child, the fork has ended all steps.
        if self.generation == generation() {
            STEPS.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Returns `true` if a thread forks, or waits to fork.
fn is_forking() -> bool {
    let ended = ENDED.load(Ordering::SeqCst);
    BEGUN.load(Ordering::SeqCst) != ended
}

/// The descriptors that a forked child closes. At a fork, any lock may be held by a thread
/// that does not exist in the child, so this is a list of tables of atomics. The tables
/// after the first are never freed.
#[derive(Debug)]
struct Table {
    entries: [AtomicI32; 256],
    next: AtomicPtr<Table>,
}

/// The value of an entry without a descriptor.
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
/// The number of forks that this process has begun, and of those that have ended.
static BEGUN: AtomicU32 = AtomicU32::new(0);
static ENDED: AtomicU32 = AtomicU32::new(0);
/// The number of threads in a [`Step`].
static STEPS: AtomicU32 = AtomicU32::new(0);
/// The number of forks that have not waited until no thread was in a step.
static INTRUSIONS: AtomicU32 = AtomicU32::new(0);

fn watch_forks() {
    static ONCE: Once = Once::new();

    extern "C" fn before() {
        BEGUN.fetch_add(1, Ordering::SeqCst);
        if !wait_deadline(|| STEPS.load(Ordering::SeqCst) == 0) {
            INTRUSIONS.fetch_add(1, Ordering::SeqCst);
        }
    }

    extern "C" fn in_parent() {
        ENDED.fetch_add(1, Ordering::SeqCst);
    }

    extern "C" fn in_child() {
        // Steps and forks of other threads continue in the parent only.
        STEPS.store(0, Ordering::SeqCst);
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

    /// Counts an intrusion, as a fork of another thread does that has not waited for the step.
    #[test]
    fn a_file_that_a_child_may_have_inherited_is_opened_again() {
        let mut opened = 0;
        let own = OwnFile::open(|| {
            opened += 1;
            if opened == 1 {
                INTRUSIONS.fetch_add(1, Ordering::SeqCst);
            }
            File::open("/dev/null")
        });
        assert!(own.unwrap().get().metadata().is_ok());
        assert!(opened > 1);
    }
}
