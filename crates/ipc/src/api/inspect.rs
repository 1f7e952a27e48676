//! Inspects segments without joining them: names, participants, and the state of dead ones.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::api::builder::ENDING;
use crate::api::error::Error;
use crate::api::kind::{Kind, WhenFull};
use crate::api::segment::{self, FIRST_PARTICIPANT};
use crate::api::settings::Settings;
use crate::api::sys::{self, SegmentFile};
use crate::kernel::memory::{Snapshot, record};
use crate::kernel::ring::{Delivery, INACTIVE, OBSERVER};

/// Returns `true` if segments can be shared between processes on this system.
pub fn is_supported() -> bool {
    sys::supported().is_ok()
}

/// A segment that [`list`] has found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SegmentInfo {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// How messages find their receivers.
    pub kind: Kind,
    /// The number of messages that the ring can hold or, without messages, the number of ids,
    /// permits or parties.
    pub capacity: usize,
    /// The length of the longest message, in bytes; 0 if there are no messages.
    pub max_len: usize,
    /// The policy of senders when the ring is full.
    pub when_full: WhenFull,
    /// The maximum number of senders.
    pub max_senders: usize,
    /// The maximum number of receivers.
    pub max_receivers: usize,
    /// Bytes of shared memory.
    pub size: u64,
    /// The number of the user to whom it belongs.
    pub owner: u32,
    /// The permissions of its file.
    pub mode: u32,
    /// The number of positions claimed since the segment was made; the difference between
    /// two calls gives the rate.
    pub messages: u64,
    /// The participants, including dead ones that have not been reaped yet.
    pub participants: Vec<Participant>,
}

/// A sender or receiver of a segment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Participant {
    /// `true` if it sends or notifies; otherwise it receives, listens or takes part.
    pub sends: bool,
    /// The number of its process, as the process has written it.
    pub pid: u32,
    /// `true` if it is alive, according to the kernel.
    pub alive: bool,
    /// The number of messages that it has not received yet, for receivers of routes and
    /// channels, but not for observers.
    pub depth: Option<u64>,
}

/// Lists this user's segments.
///
/// ```
/// # if blitz_io::ipc::is_supported() {
/// for segment in blitz_io::ipc::list()? {
///     println!("{} {:?}: {} take part", segment.name, segment.kind, segment.participants.len());
/// }
/// # }
/// # Ok::<(), blitz_io::ipc::Error>(())
/// ```
///
/// # Errors
///
/// [`Error`] if the directory cannot be read. Files that cannot be read or are not segments
/// are left out.
pub fn list() -> Result<Vec<SegmentInfo>, Error> {
    list_in(&directory_or_users(None)?)
}

/// Lists the segments in `directory`: see
/// [`Builder::directory`](crate::Builder::directory).
///
/// # Errors
///
/// As [`list`].
pub fn list_in(directory: &Path) -> Result<Vec<SegmentInfo>, Error> {
    let files = files_in(directory)?;
    Ok(files.iter().filter_map(|path| info(path).ok()).collect())
}

/// Returns why files in this directory, or in that of [`list`], are left out there: each is named as a segment is, and
/// is none that this version can use, or cannot be read. Nothing can be opened with such a name.
///
/// ```
/// # if blitz_io::ipc::is_supported() {
/// for reason in blitz_io::ipc::left_out(None)? {
///     eprintln!("{reason}");
/// }
/// # }
/// # Ok::<(), blitz_io::ipc::Error>(())
/// ```
///
/// # Errors
///
/// As [`list`].
pub fn left_out(directory: Option<&Path>) -> Result<Vec<Error>, Error> {
    let files = files_in(&directory_or_users(directory)?)?;
    let reasons = files.iter().filter_map(|path| info(path).err());
    // A file may have gone since its directory was read.
    let is_there = |error: &Error| match error {
        Error::Io { source, .. } => source.kind() != ErrorKind::NotFound,
        _ => true,
    };
    Ok(reasons.filter(is_there).collect())
}

/// Removes this user's segments that have no living participant, and returns their names.
/// Files of other users stay.
///
/// This is not necessary: opening a segment with the same name does the same.
///
/// ```
/// # if blitz_io::ipc::is_supported() {
/// for name in blitz_io::ipc::clean()? {
///     println!("removed {name}");
/// }
/// # }
/// # Ok::<(), blitz_io::ipc::Error>(())
/// ```
///
/// # Errors
///
/// [`Error`] if the directory cannot be read, or a segment in it cannot be removed. The others are removed: see
/// [`clean_where`].
pub fn clean() -> Result<Vec<String>, Error> {
    clean_where(None, |_| true)?.into_result()
}

/// Does the same as [`clean`] in `directory`.
///
/// # Errors
///
/// As [`clean`].
pub fn clean_in(directory: &Path) -> Result<Vec<String>, Error> {
    clean_where(Some(directory), |_| true)?.into_result()
}

/// The segments that [`clean_where`] removed, and those that it could not remove.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Cleaned {
    /// The names of the removed segments.
    pub removed: Vec<String>,
    /// Why segments could not be removed, one error for each. Files that are no segments of this user are not
    /// among them: see [`left_out`].
    pub failed: Vec<Error>,
}

impl Cleaned {
    fn into_result(self) -> Result<Vec<String>, Error> {
        match self.failed.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(self.removed),
        }
    }
}

/// Does the same as [`clean`], or as [`clean_in`] in a directory, but only with segments for whose names
/// `remove` returns `true`. It calls `remove` only for segments without a living participant, so a function
/// that returns `false` finds out which segments [`clean`] would remove.
///
/// ```
/// # if blitz_io::ipc::is_supported() {
/// let cleaned = blitz_io::ipc::clean_where(None, |name| name.starts_with("test-"))?;
/// for error in &cleaned.failed {
///     eprintln!("{error}");
/// }
/// # }
/// # Ok::<(), blitz_io::ipc::Error>(())
/// ```
///
/// # Errors
///
/// [`Error`] if the directory cannot be read. A segment that cannot be removed does not stop the others from being
/// removed.
pub fn clean_where(
    directory: Option<&Path>,
    mut remove: impl FnMut(&str) -> bool,
) -> Result<Cleaned, Error> {
    let mut cleaned = Cleaned::default();
    for path in files_in(&directory_or_users(directory)?)? {
        let name = name_of(&path);
        match segment::remove_dead(&path, || remove(&name)) {
            Ok(true) => cleaned.removed.push(name),
            Ok(false) | Err(Error::Foreign { .. }) => {}
            Err(error) => cleaned.failed.push(error),
        }
    }
    Ok(cleaned)
}

/// Returns this directory, or the user's own.
fn directory_or_users(directory: Option<&Path>) -> Result<Cow<'_, Path>, Error> {
    if let Some(directory) = directory {
        return Ok(Cow::Borrowed(directory));
    }
    sys::supported()?;
    Ok(Cow::Owned(sys::user_directory()?))
}

fn files_in(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let read = |error| Error::from_io("read", directory, error);
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(read)?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(read)?.path();
        if path.extension() == Some(OsStr::new(ENDING)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn name_of(path: &Path) -> String {
    let name = path.file_stem().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn info(path: &Path) -> Result<SegmentInfo, Error> {
    let file = SegmentFile::open(path, None).map_err(|e| Error::from_io("open", path, e))?;
    let settings = segment::read_settings(&file, Some(path))?;
    let layout = settings.layout()?;
    let access = file
        .access()
        .map_err(|error| Error::from_io("look at", path, error))?;
    // It is read and not mapped: another user may make the file shorter at any time.
    let mut head = vec![0; layout.head()];
    file.read_at(&mut head, 0)
        .map_err(|error| Error::from_io("read", path, error))?;
    let head = Snapshot::new(head);
    let (capacity, max_len) = if settings.kind.has_messages() {
        (settings.capacity, settings.max_len)
    } else {
        (settings.entries(), 0)
    };
    let participants = (0..settings.participants())
        .filter(|&who| {
            head.record(who, record::ROLE) != 0 || head.record(who, record::CURSOR) != INACTIVE
        })
        .map(|who| participant(&file, &settings, &head, who));
    Ok(SegmentInfo {
        name: name_of(path),
        path: path.to_owned(),
        kind: settings.kind,
        capacity,
        max_len,
        when_full: settings.when_full,
        max_senders: settings.senders,
        max_receivers: settings.receivers,
        size: layout.size() as u64,
        owner: access.user,
        mode: access.mode,
        messages: head.tail(),
        participants: participants.collect(),
    })
}

fn participant(
    file: &SegmentFile,
    settings: &Settings,
    head: &Snapshot,
    who: usize,
) -> Participant {
    let cursor = head.record(who, record::CURSOR);
    let reads = cursor < OBSERVER && settings.kind.delivery() == Delivery::Every;
    let behind = head.tail().saturating_sub(cursor);
    Participant {
        sends: who < settings.senders,
        pid: u32::try_from(head.record(who, record::PID)).unwrap_or(0),
        alive: file.is_locked(FIRST_PARTICIPANT + who, 1).unwrap_or(true),
        depth: reads.then(|| behind.min(settings.capacity as u64)),
    }
}
