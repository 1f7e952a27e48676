//! Segments seen from outside: what there is, who takes part, what the dead have left.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use blitz_futex::atomic::Ordering;

use crate::builder::ENDING;
use crate::error::Error;
use crate::memory::record;
use crate::ring::{Delivery, INACTIVE};
use crate::segment::{self, Segment};
use crate::settings::{Kind, WhenFull};
use crate::sys::{self, SegmentFile};

/// Returns whether segments can be shared between processes on this system.
pub fn is_supported() -> bool {
    sys::supported().is_ok()
}

/// A segment, as [`list`] finds it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SegmentInfo {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// How messages find their receivers.
    pub kind: Kind,
    /// How many messages the ring holds; how many ids, permits or parties there are where
    /// there are no messages.
    pub capacity: usize,
    /// The longest message, in bytes; 0 where there are none.
    pub max_len: usize,
    /// What a sender does when the ring is full.
    pub when_full: WhenFull,
    /// How many senders there can be.
    pub max_senders: usize,
    /// How many receivers there can be.
    pub max_receivers: usize,
    /// Bytes of shared memory.
    pub size: u64,
    /// Positions handed out since the segment was made; the difference between two looks
    /// gives the rate.
    pub messages: u64,
    /// The participants, including dead ones that have not been reaped yet.
    pub participants: Vec<Participant>,
}

/// A sender or receiver of a segment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Participant {
    /// Whether it sends or notifies; otherwise it receives, listens or takes part.
    pub sends: bool,
    /// Its process, as it had written itself.
    pub pid: u32,
    /// Whether the kernel says that it lives.
    pub alive: bool,
    /// Receivers of routes and channels: how many messages it has not received yet.
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
/// [`Error`] if the directory cannot be read. Files that cannot be read or are no segments
/// are left out.
pub fn list() -> Result<Vec<SegmentInfo>, Error> {
    sys::supported()?;
    list_in(&sys::user_directory()?)
}

/// Lists the segments in `directory`: see [`Builder::directory`](crate::Builder::directory).
///
/// # Errors
///
/// As [`list`].
pub fn list_in(directory: &Path) -> Result<Vec<SegmentInfo>, Error> {
    let files = files_in(directory)?;
    Ok(files.iter().filter_map(|path| info(path).ok()).collect())
}

/// Removes the segments of this user in which nobody lives; returns their names.
///
/// There is no need to: opening a segment of the same name does the same.
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
/// [`Error`] if the directory cannot be read, or a file in it not be removed.
pub fn clean() -> Result<Vec<String>, Error> {
    sys::supported()?;
    clean_in(&sys::user_directory()?)
}

/// Does in `directory` what [`clean`] does.
///
/// # Errors
///
/// As [`clean`].
pub fn clean_in(directory: &Path) -> Result<Vec<String>, Error> {
    let mut removed = Vec::new();
    for path in files_in(directory)? {
        match segment::remove_dead(&path) {
            Ok(true) => removed.push(name_of(&path)),
            Ok(false) | Err(Error::Foreign { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(removed)
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
    let size = file
        .size()
        .map_err(|error| Error::from_io("look at", path, error))?;
    let segment = Segment::map_existing(file, Some(path))?;
    let settings = segment.settings;
    let (capacity, max_len) = match settings.kind.has_messages() {
        true => (settings.capacity, settings.max_len),
        false => (settings.entries(), 0),
    };
    let used = (0..settings.participants()).filter(|&who| segment.is_in_use(who));
    Ok(SegmentInfo {
        name: name_of(path),
        path: path.to_owned(),
        kind: settings.kind,
        capacity,
        max_len,
        when_full: settings.when_full,
        max_senders: settings.senders,
        max_receivers: settings.receivers,
        size,
        messages: segment.ring.memory.tail().load(Ordering::Relaxed),
        participants: used.map(|who| participant(&segment, who)).collect(),
    })
}

fn participant(segment: &Segment, who: usize) -> Participant {
    let memory = &segment.ring.memory;
    let pid = memory.record(who, record::PID).load(Ordering::Relaxed);
    let cursor = memory.cursor(who).load(Ordering::Acquire);
    let reads = cursor != INACTIVE && segment.settings.kind.delivery() == Delivery::Every;
    Participant {
        sends: who < segment.settings.senders,
        pid: u32::try_from(pid).unwrap_or(0),
        alive: segment.is_alive(who),
        depth: reads.then(|| segment.ring.depth(cursor)),
    }
}
