//! A segment's life: its first participant makes it, its last one removes it.
//!
//! **Membership lock.** A participant that joins, leaves or removes the segment holds the
//! kernel's lock on byte 0 of the file. The lock dies with its owner. Every step below
//! happens under it, so other participants see a complete segment or none:
//!
//! * *Open.* After the lock is taken, the name must still lead to this file. If it does
//!   not, another participant has removed the file in between, and the opener starts again.
//! * *No other participant alive* (no lock on any participant's byte): the contents of the
//!   file were left by the dead, or by a maker that was killed. The opener removes the file
//!   and makes a new one, unless the file is not a segment at all. So a killed group leaves
//!   nothing behind that stops the next. A maker writes the magic number before anything
//!   else, so an unfinished file is empty, all zeros, or begins with that number.
//! * *Leave.* A participant gives its own byte back, and then, if no other is alive,
//!   removes the name. A process that is killed does not; the next one that opens the
//!   segment does, or [`clean`](crate::clean).
//!
//! The memory of a file is reserved when it is made, so no later access can fail for want
//! of it. A file that other users may change is refused (`trust.rs`).
//!
//! A participant opens the file twice: one description has its locks, the other is mapped
//! and closed, since a forked child inherits the mapping (`sys/unix/forks.rs`).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use blitz_io_core::looks;

use crate::api::error::Error;
use crate::api::kind::WhenFull;
use crate::api::settings::{MAGIC, Settings};
use crate::api::sys::{self, Mapping, SegmentFile};
use crate::api::trust::{self, Trust};
use crate::kernel::memory::{Layout, Memory, header, word_at};
use crate::kernel::ring::{MAX_PARTICIPANTS, Phase, Ring, Stamp};

/// The membership lock.
pub(crate) const MEMBERSHIP: usize = 0;
/// The lock of the first participant.
pub(crate) const FIRST_PARTICIPANT: usize = 1;

/// The time that an opener waits for others that join or leave. They need microseconds; after
/// this time, the opener reports that one of them must be stopped.
pub(crate) const JOIN_PATIENCE: Duration = Duration::from_secs(10);
/// The time that a participant that leaves waits for the lock. It could leave the removal to
/// the next.
const LEAVE_PATIENCE: Duration = Duration::from_secs(1);
/// The pause between two attempts to get the membership lock.
const MEMBERSHIP_PAUSE: Duration = Duration::from_micros(200);
/// Number of times that the file may vanish between opening and locking it.
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

/// The action if the segment does not exist.
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
        trust: Trust,
        join: impl FnOnce(Self) -> Result<R, Error>,
    ) -> Result<R, Error> {
        for _ in 0..OPEN_ATTEMPTS {
            let file = open_or_make(path, missing)?;
            trust.check(&file, path)?;
            let _membership = Membership::wait(&file, JOIN_PATIENCE)?;
            if !file.is_at(path) {
                continue;
            }
            let io = |error| Error::from_io("look at", path, error);
            let size = file.size().map_err(io)?;
            if size != 0 && !is_anyone_alive(&file).map_err(io)? {
                refuse_foreign(&file, size, path)?;
                remove(path)?;
                continue;
            }
            if size == 0 {
                return match missing {
                    Missing::Make(settings, mode) => {
                        let made = Self::make(&file, path, settings, mode).and_then(join);
                        made.inspect_err(|_| _ = remove(path))
                    }
                    Missing::Report => Err(not_found(path)),
                };
            }
            let own = reopen_for(&file, path)?;
            let mapped = reopen_for(&file, path)?;
            return join(Self::map_existing(own, &mapped, Some(path))?);
        }
        Err(Error::Busy)
    }

    /// Makes the empty file at `path` into a segment.
    fn make(
        file: &SegmentFile,
        path: &Path,
        settings: &Settings,
        mode: u32,
    ) -> Result<Self, Error> {
        // First: the process's mask may have removed permissions that opening the file
        // again needs.
        file.set_mode(mode)
            .map_err(|error| Error::from_io("set the permissions of", path, error))?;
        let own = reopen_for(file, path)?;
        let mapped = reopen_for(file, path)?;
        Self::fill(own, Some(&mapped), Some(path), settings)
    }

    /// Makes a new file into an empty segment. See [`map`](Self::map) for `mapped`.
    pub(crate) fn fill(
        file: SegmentFile,
        mapped: Option<&SegmentFile>,
        path: Option<&Path>,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let layout = settings.layout()?;
        let place = path.unwrap_or(Path::new(""));
        file.allocate(layout.size()).map_err(|error| {
            no_space(&error, &layout)
                .unwrap_or_else(|| Error::from_io("reserve memory for", place, error))
        })?;
        let segment = Self::map(file, mapped, path, *settings, layout)?;
        let memory = segment.ring.memory;
        // If this process is killed from here on, the magic number shows others that the
        // file is an unfinished segment.
        memory.header(header::MAGIC).store(MAGIC, Ordering::Relaxed);
        fence(Ordering::Release);
        for index in 0..settings.capacity as u64 {
            let free = Stamp::new(index, Phase::Free, 0).0;
            memory.stamp(index).store(free, Ordering::Relaxed);
        }
        for participant in 0..settings.participants() {
            let cursor = memory.cursor(participant);
            cursor.store(crate::kernel::ring::INACTIVE, Ordering::Relaxed);
        }
        settings.write(&memory, layout.size());
        Ok(segment)
    }

    /// Returns the random number of this segment.
    pub(crate) fn id(&self) -> u64 {
        self.ring.memory.header(header::ID).load(Ordering::Relaxed)
    }

    /// Maps a segment that is complete. See [`map`](Self::map) for `mapped`.
    pub(crate) fn map_existing(
        file: SegmentFile,
        mapped: &SegmentFile,
        path: Option<&Path>,
    ) -> Result<Self, Error> {
        let settings = read_settings(&file, path)?;
        let layout = settings.layout()?;
        Self::map(file, Some(mapped), path, settings, layout)
    }

    /// `file` is the participant's own, and has its locks. `mapped` is the same file, opened
    /// separately. It may be left out if no participant will have its locks in `file`.
    fn map(
        file: SegmentFile,
        mapped: Option<&SegmentFile>,
        path: Option<&Path>,
        settings: Settings,
        layout: Layout,
    ) -> Result<Self, Error> {
        let place = path.unwrap_or(Path::new(""));
        let mapping = mapped
            .unwrap_or(&file)
            .map(layout.size())
            .map_err(|error| Error::from_io("map", place, error))?;
        // SAFETY: the mapping has the layout's size, and lives as long as the segment.
        let memory = unsafe { Memory::new(mapping.base(), layout) };
        let ring = Ring::new(
            memory,
            settings.capacity as u64,
            settings.senders,
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

/// Removes the segment at `path` if it is this user's, no participant is alive, and `wanted` then returns
/// `true`. Returns `true` if it did.
pub(crate) fn remove_dead(path: &Path, wanted: impl FnOnce() -> bool) -> Result<bool, Error> {
    use io::ErrorKind::{NotFound, PermissionDenied};
    // A directory, a pipe or a link is no segment, whatever its name.
    if fs::symlink_metadata(path).is_ok_and(|known| !known.is_file()) {
        return Ok(false);
    }
    let file = match SegmentFile::open(path, None) {
        Err(error) if matches!(error.kind(), NotFound | PermissionDenied) => return Ok(false),
        other => other.map_err(|error| Error::from_io("open", path, error))?,
    };
    let io = |error| Error::from_io("look at", path, error);
    if file.access().map_err(io)?.user != sys::user() {
        return Ok(false);
    }
    let _membership = Membership::wait(&file, JOIN_PATIENCE)?;
    if !file.is_at(path) || is_anyone_alive(&file).map_err(io)? {
        return Ok(false);
    }
    refuse_foreign(&file, file.size().map_err(io)?, path)?;
    if !wanted() {
        return Ok(false);
    }
    remove(path).map(|()| true)
}

/// Returns `true` if there is a segment of this user at `path` that has a participant.
pub(crate) fn is_in_use(path: &Path) -> bool {
    let Ok(file) = SegmentFile::open(path, None) else {
        return false;
    };
    let is_ours = file.access().is_ok_and(|found| found.user == sys::user());
    is_ours && is_anyone_alive(&file).unwrap_or(false)
}

fn open_or_make(path: &Path, missing: Missing<'_>) -> Result<SegmentFile, Error> {
    let (mode, layout) = match missing {
        Missing::Make(settings, mode) => (Some(mode), Some(settings.layout()?)),
        Missing::Report => (None, None),
    };
    SegmentFile::open(path, mode).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => not_found(path),
        _ => trust::is_link(path)
            .or_else(|| layout.and_then(|layout| no_space(&error, &layout)))
            .unwrap_or_else(|| Error::from_io("open", path, error)),
    })
}

fn no_space(error: &io::Error, layout: &Layout) -> Option<Error> {
    use io::ErrorKind::{FileTooLarge, OutOfMemory, QuotaExceeded, StorageFull};
    let kinds = [StorageFull, OutOfMemory, FileTooLarge, QuotaExceeded];
    let needed = layout.size();
    kinds
        .contains(&error.kind())
        .then_some(Error::NoSpace { needed })
}

/// Opens the file again, for a description other than that of the membership lock. It is
/// the same file: the lock keeps others from replacing it.
fn reopen_for(file: &SegmentFile, path: &Path) -> Result<SegmentFile, Error> {
    let again = SegmentFile::open(path, None).map_err(|e| Error::from_io("open", path, e))?;
    if file.is_at(path) {
        Ok(again)
    } else {
        Err(Error::Busy)
    }
}

/// Refuses a file that is not a segment, which must not be removed. A maker that was killed
/// leaves zeros, or a file that begins with the magic number.
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
    let io = |error| Error::from_io("read", path, error);
    let is_ours = match Header::read(file).map_err(io)?.load(header::MAGIC) {
        MAGIC => true,
        // A maker has reserved memory. A file without it may have any length, too long to be
        // read.
        0 => file.is_allocated().map_err(io)? && is_zero(file, size).map_err(io)?,
        _ => false,
    };
    if is_ours {
        return Ok(());
    }
    foreign("it does not begin with the magic number")
}

fn is_zero(file: &SegmentFile, size: u64) -> io::Result<bool> {
    let mut part = vec![0; 1 << 16];
    let mut at = 0;
    while at < size {
        let len = part.len().min((size - at) as usize);
        file.read_at(&mut part[..len], at)?;
        if part[..len].iter().any(|&byte| byte != 0) {
            return Ok(false);
        }
        at += len as u64;
    }
    Ok(true)
}

/// Returns the settings of a segment.
pub(crate) fn read_settings(file: &SegmentFile, path: Option<&Path>) -> Result<Settings, Error> {
    let place = path.unwrap_or(Path::new(""));
    let size = file
        .size()
        .map_err(|error| Error::from_io("look at", place, error))?;
    let foreign = |reason| Error::Foreign {
        path: place.to_owned(),
        reason,
    };
    if size < header::LEN as u64 {
        return Err(foreign(format!("it has only {size} bytes")));
    }
    let words = Header::read(file).map_err(|error| Error::from_io("read", place, error))?;
    Settings::read(|offset| words.load(offset), size).map_err(foreign)
}

/// A copy of the header of a file whose layout is not known yet.
struct Header([u8; header::LEN]);

impl Header {
    /// The file has at least `header::LEN` bytes. It is read and not mapped: see
    /// `sys/unix/forks.rs`.
    fn read(file: &SegmentFile) -> io::Result<Self> {
        let mut bytes = [0; header::LEN];
        file.read_at(&mut bytes, 0)?;
        Ok(Self(bytes))
    }

    fn load(&self, offset: usize) -> u64 {
        word_at(&self.0, offset)
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
    Error::NotFound {
        name: name.into(),
        path: path.to_owned(),
    }
}

/// The membership lock, while it is held.
pub(crate) struct Membership<'a>(&'a SegmentFile);

impl<'a> Membership<'a> {
    pub(crate) fn wait(file: &'a SegmentFile, patience: Duration) -> Result<Self, Error> {
        let deadline = Instant::now() + patience;
        loop {
            match file.try_lock(MEMBERSHIP) {
                Ok(true) => return Ok(Self(file)),
                Ok(false) if !looks::sleep(MEMBERSHIP_PAUSE, Some(deadline)) => {
                    return Err(Error::Busy);
                }
                Ok(false) => {}
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
