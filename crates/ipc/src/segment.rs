//! A segment's life: its first participant makes it, its last one removes it.
//!
//! **Membership lock.** A participant that joins, leaves for good or removes the segment
//! holds the kernel's lock on byte 0 of the file. The lock dies with its owner. Everything
//! below happens under it, so that a segment is seen complete or not at all:
//!
//! * *Open.* After the lock is taken, the name must still lead to this file. If it does
//!   not, another participant has removed the file meanwhile, and the opener starts again.
//! * *No other participant alive* (no lock on any participant's byte): what the file holds
//!   was left by the dead, or by a maker that was killed. The file is removed and made
//!   anew, unless it is not a segment at all. So a group that was killed leaves nothing
//!   behind that stops the next.
//! * *Leave.* A participant gives its own byte back, and then, if no other is alive,
//!   removes the name. A process that is killed does not; the next one that opens the
//!   segment does, or [`clean`](crate::clean).
//!
//! The memory of a file is reserved when it is made, so no later access can fail for want
//! of it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::memory::{Layout, Memory, header};
use crate::ring::{MAX_PARTICIPANTS, Phase, Ring, Stamp};
use crate::settings::{Settings, WhenFull};
use crate::sys::{self, Mapping, SegmentFile};

/// The membership lock.
pub(crate) const MEMBERSHIP: usize = 0;
/// The lock of the first participant.
pub(crate) const FIRST_PARTICIPANT: usize = 1;

/// How long an opener waits for others that join or leave. They need microseconds; after
/// this time, the opener reports that one of them must be stopped.
pub(crate) const JOIN_PATIENCE: Duration = Duration::from_secs(10);
/// How long a participant that leaves waits for the lock. It could leave the removal to the
/// next.
const LEAVE_PATIENCE: Duration = Duration::from_secs(1);
/// The pause between two attempts to get the membership lock.
const MEMBERSHIP_PAUSE: Duration = Duration::from_micros(200);
/// How often the file may vanish between opening and locking it.
const OPEN_ATTEMPTS: usize = 1000;

/// A segment that this process has mapped. Taking part in it is up to `Endpoint`.
pub(crate) struct Segment {
    pub(crate) ring: Ring,
    pub(crate) settings: Settings,
    pub(crate) file: SegmentFile,
    pub(crate) path: Option<PathBuf>,
    // Last: everything above may point into it.
    mapping: Mapping,
}

/// What to do if the segment does not exist.
#[derive(Clone, Copy)]
pub(crate) enum Missing<'a> {
    /// Make it, with this mode.
    Make(&'a Settings, u32),
    /// Report an error.
    Report,
}

impl Segment {
    /// Opens the segment at `path`, and calls `join` while the membership lock is held.
    pub(crate) fn open<R>(
        path: &Path,
        missing: Missing<'_>,
        join: impl FnOnce(Self) -> Result<R, Error>,
    ) -> Result<R, Error> {
        for _ in 0..OPEN_ATTEMPTS {
            let mode = match missing {
                Missing::Make(_, mode) => Some(mode),
                Missing::Report => None,
            };
            let file = SegmentFile::open(path, mode).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => not_found(path),
                _ => Error::from_io("open", path, error),
            })?;
            let _membership = Membership::wait(&file, JOIN_PATIENCE)?;
            if !file.is_at(path) {
                continue;
            }
            let io = |error| Error::from_io("look at", path, error);
            let size = file.size().map_err(io)?;
            if !is_anyone_alive(&file).map_err(io)? && size != 0 {
                refuse_foreign(&file, size, path)?;
                remove(path)?;
                continue;
            }
            if size == 0 {
                return match missing {
                    Missing::Make(settings, mode) => {
                        let made = Self::make(reopen_for(&file, path)?, path, settings, mode);
                        join(made.inspect_err(|_| _ = remove(path))?)
                    }
                    Missing::Report => Err(not_found(path)),
                };
            }
            return join(Self::map_existing(reopen_for(&file, path)?, Some(path))?);
        }
        Err(Error::Busy)
    }

    fn make(file: SegmentFile, path: &Path, settings: &Settings, mode: u32) -> Result<Self, Error> {
        Self::fill(file, Some(path), settings, Some(mode))
    }

    /// Makes a new file into an empty segment.
    pub(crate) fn fill(
        file: SegmentFile,
        path: Option<&Path>,
        settings: &Settings,
        mode: Option<u32>,
    ) -> Result<Self, Error> {
        let layout = settings.layout()?;
        let place = path.unwrap_or(Path::new(""));
        file.allocate(layout.size(), mode)
            .map_err(|error| match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::OutOfMemory => Error::NoSpace {
                    needed: layout.size(),
                },
                io::ErrorKind::FileTooLarge | io::ErrorKind::QuotaExceeded => Error::NoSpace {
                    needed: layout.size(),
                },
                _ => Error::from_io("reserve memory for", place, error),
            })?;
        let segment = Self::map(file, path, *settings, layout)?;
        let memory = segment.ring.memory;
        for index in 0..settings.capacity as u64 {
            let free = Stamp::new(index, Phase::Free, 0).0;
            memory.stamp(index).store(free, Ordering::Relaxed);
        }
        for participant in 0..settings.participants() {
            let cursor = memory.cursor(participant);
            cursor.store(crate::ring::INACTIVE, Ordering::Relaxed);
        }
        settings.write(&memory, layout.size());
        Ok(segment)
    }

    /// Maps a segment that is complete.
    pub(crate) fn map_existing(file: SegmentFile, path: Option<&Path>) -> Result<Self, Error> {
        let place = path.unwrap_or(Path::new(""));
        let size = file
            .size()
            .map_err(|error| Error::from_io("look at", place, error))?;
        let foreign = |reason| Error::Foreign {
            path: place.to_owned(),
            reason,
        };
        let settings = read_header(&file, size, place)?.map_err(foreign)?;
        let layout = settings.layout()?;
        Self::map(file, path, settings, layout)
    }

    fn map(
        file: SegmentFile,
        path: Option<&Path>,
        settings: Settings,
        layout: Layout,
    ) -> Result<Self, Error> {
        let place = path.unwrap_or(Path::new(""));
        let mapping = file
            .map(layout.size())
            .map_err(|error| Error::from_io("map", place, error))?;
        // SAFETY: the mapping has the layout's size, and lives as long as the segment.
        let memory = unsafe { Memory::new(mapping.base(), layout) };
        let ring = Ring::new(
            memory,
            settings.capacity as u64,
            settings.participants(),
            settings.kind.delivery(),
            settings.when_full == WhenFull::DropOldest,
        );
        Ok(Self {
            ring,
            settings,
            file,
            path: path.map(Path::to_owned),
            mapping,
        })
    }

    /// Maps all pages, for a participant, but only if they have memory: with a file of
    /// another user that has holes, this process would pay for it.
    pub(crate) fn populate(&self) {
        if self.file.is_allocated().unwrap_or(false) {
            self.mapping.populate();
        }
    }

    /// Removes the name if no participant is left. If the membership lock is not available,
    /// which a stopped process may hold, this is left to the next participant.
    pub(crate) fn remove_if_abandoned(&self) {
        let Some(path) = &self.path else {
            return;
        };
        if let Ok(_membership) = Membership::wait(&self.file, LEAVE_PATIENCE) {
            if matches!(is_anyone_alive(&self.file), Ok(false)) && self.file.is_at(path) {
                _ = remove(path);
            }
        }
    }
}

/// Removes the segment at `path` if no participant is alive. Returns `true` if it did.
pub(crate) fn remove_dead(path: &Path) -> Result<bool, Error> {
    let file = match SegmentFile::open(path, None) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        other => other.map_err(|error| Error::from_io("open", path, error))?,
    };
    let _membership = Membership::wait(&file, JOIN_PATIENCE)?;
    let io = |error| Error::from_io("look at", path, error);
    if !file.is_at(path) || is_anyone_alive(&file).map_err(io)? {
        return Ok(false);
    }
    refuse_foreign(&file, file.size().map_err(io)?, path)?;
    remove(path).map(|()| true)
}

/// Opens the file again, to get a description of the participant's own, apart from the one
/// that holds the membership lock. It is the same file: the lock keeps others from
/// replacing it.
fn reopen_for(file: &SegmentFile, path: &Path) -> Result<SegmentFile, Error> {
    let again = SegmentFile::open(path, None).map_err(|e| Error::from_io("open", path, e))?;
    match file.is_at(path) {
        true => Ok(again),
        false => Err(Error::Busy),
    }
}

/// Refuses a file that is not a segment, which must not be removed. A maker that was killed
/// leaves zeros.
fn refuse_foreign(file: &SegmentFile, size: u64, path: &Path) -> Result<(), Error> {
    let foreign = |reason: &str| {
        Err(Error::Foreign {
            path: path.to_owned(),
            reason: reason.to_owned(),
        })
    };
    if size == 0 {
        return Ok(());
    }
    if size < header::LEN as u64 {
        return foreign("it is too short");
    }
    let words = HeaderWords::map(file, path)?;
    match words.load(header::MAGIC) {
        0 => Ok(()),
        magic if magic == u64::from_le_bytes(*b"blitzipc") => Ok(()),
        _ => foreign("it does not begin with the magic number"),
    }
}

type Header = Result<Settings, String>;

fn read_header(file: &SegmentFile, size: u64, path: &Path) -> Result<Header, Error> {
    if size < header::LEN as u64 {
        return Ok(Err(format!("it has only {size} bytes")));
    }
    let words = HeaderWords::map(file, path)?;
    Ok(Settings::read(|offset| words.load(offset), size))
}

/// The header of a file whose layout is not known yet.
struct HeaderWords(Mapping);

impl HeaderWords {
    /// The file has at least `header::LEN` bytes.
    fn map(file: &SegmentFile, path: &Path) -> Result<Self, Error> {
        let mapping = file.map(header::LEN);
        Ok(Self(mapping.map_err(|e| Error::from_io("map", path, e))?))
    }

    fn load(&self, offset: usize) -> u64 {
        assert!(offset < header::LEN && offset % 8 == 0);
        // SAFETY: an aligned word within the mapping, which is accessed only atomically.
        let word = unsafe { self.0.base().add(offset).cast::<AtomicU64>().as_ref() };
        word.load(Ordering::Acquire)
    }
}

fn is_anyone_alive(file: &SegmentFile) -> io::Result<bool> {
    file.is_locked(FIRST_PARTICIPANT, MAX_PARTICIPANTS)
}

fn remove(path: &Path) -> Result<(), Error> {
    match sys::remove(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::from_io("remove", path, error))
        }
        _ => Ok(()),
    }
}

fn not_found(path: &Path) -> Error {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    Error::NotFound { name: name.into() }
}

/// The membership lock, while it is held.
pub(crate) struct Membership<'a>(&'a SegmentFile);

impl<'a> Membership<'a> {
    pub(crate) fn wait(file: &'a SegmentFile, patience: Duration) -> Result<Self, Error> {
        let deadline = Instant::now() + patience;
        loop {
            match file.try_lock(MEMBERSHIP) {
                Ok(true) => return Ok(Self(file)),
                Ok(false) if Instant::now() >= deadline => return Err(Error::Busy),
                Ok(false) => thread::sleep(MEMBERSHIP_PAUSE),
                Err(error) => return Err(Error::from_io("lock", Path::new(""), error)),
            }
        }
    }
}

impl Drop for Membership<'_> {
    fn drop(&mut self) {
        self.0.unlock(MEMBERSHIP);
    }
}
