use std::path::{Path, PathBuf};

use crate::api::endpoint::{Endpoint, Role};
use crate::api::error::Error;
use crate::api::kind::{Kind, WhenFull};
use crate::api::segment::{self, Missing, Segment};
use crate::api::settings::Settings;
use crate::api::sys;
use crate::api::trust::Trust;
use crate::{Receiver, Sender};

/// Builds or opens a segment: its settings.
///
/// The first participant makes the segment; the others find it. A setting that was given
/// must match that of the segment. A setting that was left out is taken from the segment,
/// or has its default if there is no segment yet.
///
/// ```
/// use blitz_io::ipc::{Queue, WhenFull};
/// # if blitz_io::ipc::is_supported() {
/// let jobs = Queue::builder().capacity(64).max_len(1024).when_full(WhenFull::Fail);
/// # let jobs = jobs.directory(std::env::temp_dir());
/// # let name = &format!("jobs-builder-{}", std::process::id());
/// # let _ = r#"
/// let name = "jobs";
/// # "#;
/// let mut sender = jobs.sender(name)?;
/// let mut worker = jobs.receiver(name)?;
/// sender.send(b"sweep")?;
/// assert_eq!(*worker.recv()?, *b"sweep");
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    kind: Kind,
    capacity: Option<Capacity>,
    max_len: Option<usize>,
    when_full: Option<WhenFull>,
    senders: Option<usize>,
    receivers: Option<usize>,
    mode: u32,
    owner: Option<u32>,
    directory: Option<PathBuf>,
    history: bool,
    must_exist: bool,
}

/// The capacity of a ring.
#[derive(Clone, Copy, Debug)]
enum Capacity {
    Messages(usize),
    Bytes(usize),
}

impl Capacity {
    /// Returns the number of messages of this length.
    fn of(self, max_len: usize) -> usize {
        match self {
            // These numbers are refused when the segment is made.
            Self::Messages(0) => 0,
            Self::Messages(count) => count.checked_next_power_of_two().unwrap_or(count),
            Self::Bytes(bytes) => match bytes / max_len.max(1) {
                0 => 1,
                count => 1 << count.ilog2(),
            },
        }
    }
}

const DEFAULT_CAPACITY: Capacity = Capacity::Messages(1024);
const DEFAULT_MAX_LEN: usize = 1008;
const DEFAULT_PARTICIPANTS: usize = 64;
/// The participants of a semaphore or barrier, or the listeners of an event.
const DEFAULT_MEMBERS: usize = 256;
/// The permissions of a file to which only the user has access.
const DEFAULT_MODE: u32 = 0o600;
/// A file name can have 255 bytes, and the ending needs some of them.
const MAX_NAME: usize = 200;
pub(crate) const ENDING: &str = "ring";

impl Builder {
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            kind,
            capacity: None,
            max_len: None,
            when_full: None,
            senders: None,
            receivers: None,
            mode: DEFAULT_MODE,
            owner: None,
            directory: None,
            history: false,
            must_exist: false,
        }
    }

    /// Sets how many messages the ring holds, from 1 to 2<sup>30</sup>, rounded up to a power of two.
    /// The default is 1024. Opening a segment with another number is an error.
    #[must_use]
    pub fn capacity(mut self, messages: usize) -> Self {
        self.capacity = Some(Capacity::Messages(messages));
        self
    }

    /// Sets the size of the ring in bytes of the [longest messages](Self::max_len): the
    /// number of messages is rounded down to a power of two, and is at least one. Of this
    /// and [`capacity`](Self::capacity), the last call counts.
    ///
    /// ```
    /// # #[cfg(any(target_os = "linux", target_os = "android"))]
    /// # {
    /// use blitz_io::ipc::Route;
    ///
    /// let frames = Route::builder().max_len(1 << 20).capacity_bytes(9 << 20);
    /// assert_eq!(frames.anonymous()?.sender()?.capacity(), 8);
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn capacity_bytes(mut self, bytes: usize) -> Self {
        self.capacity = Some(Capacity::Bytes(bytes));
        self
    }

    /// Sets the length of the longest message, in bytes. The default is 1008. The segment
    /// has this much memory for each message of its capacity.
    #[must_use]
    pub fn max_len(mut self, bytes: usize) -> Self {
        self.max_len = Some(bytes);
        self
    }

    /// Sets the policy of senders when the ring is full. The default is
    /// [`WhenFull::Block`].
    #[must_use]
    pub fn when_full(mut self, policy: WhenFull) -> Self {
        self.when_full = Some(policy);
        self
    }

    /// Sets the maximum number of senders at the same time. The default is 1 in a route, 64
    /// otherwise.
    #[must_use]
    pub fn max_senders(mut self, senders: usize) -> Self {
        self.senders = Some(senders);
        self
    }

    /// Sets the maximum number of receivers at the same time. The default is 64. Senders
    /// and receivers together are at most 512.
    #[must_use]
    pub fn max_receivers(mut self, receivers: usize) -> Self {
        self.receivers = Some(receivers);
        self
    }

    /// Sets the permissions of the segment's file, if this builder makes it. The default is
    /// `0o600`: only the same user. Other users also need access to the
    /// [directory](Self::directory), which must be sticky (as `/tmp` is) if they may write
    /// to it, and they must name the owner: see [`allow_owner`](Self::allow_owner).
    ///
    /// A segment that exists, and that more users may write to, is refused. A user that may
    /// write to a segment can change its messages, and can end all of its participants by
    /// making the file shorter.
    #[must_use]
    pub fn mode(mut self, mode: u32) -> Self {
        self.mode = mode & 0o777;
        self
    }

    /// Allows that the segment belongs to the user with this number. By default only a
    /// segment of the user on whose behalf the process runs is joined. If this is called
    /// several times, the last call counts.
    ///
    /// ```
    /// # if blitz_io::ipc::is_supported() {
    /// use blitz_io::ipc::Channel;
    /// # let directory = std::env::temp_dir();
    /// # let name = &format!("shared-doc-{}", std::process::id());
    /// # let _ = r#"
    /// let (directory, name) = ("/tmp", "shared");
    /// # "#;
    /// // User 1000 makes it with this mode; user 1001 joins it.
    /// let shared = Channel::builder().directory(directory).mode(0o666);
    /// let sender = shared.clone().allow_owner(1000).sender(name)?;
    /// # }
    /// # Ok::<(), blitz_io::ipc::Error>(())
    /// ```
    #[must_use]
    pub fn allow_owner(mut self, user: u32) -> Self {
        self.owner = Some(user);
        self
    }

    /// Sets the directory of the segment's file. The default is the user's own directory on
    /// a file system in memory: `$XDG_RUNTIME_DIR/blitz-io`, or `/dev/shm/blitz-io-UID`. On
    /// macOS it is `blitz-io` in the user's own directory below `/var/folders`, on FreeBSD
    /// `/tmp/blitz-io-UID`.
    #[must_use]
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.directory = Some(path.into());
        self
    }

    /// Sets whether a receiver of a route or channel begins with the messages that the ring
    /// still holds. By default it begins with the next message.
    #[must_use]
    pub fn with_history(mut self, history: bool) -> Self {
        self.history = history;
        self
    }

    /// Sets whether it is an error if there is no segment with this name yet.
    #[must_use]
    pub fn must_exist(mut self, must_exist: bool) -> Self {
        self.must_exist = must_exist;
        self
    }

    /// Joins the segment `name` as a sender.
    ///
    /// # Errors
    ///
    /// See [`Error`]; [`Error::Occupied`] if the segment has its largest number of senders.
    pub fn sender(&self, name: &str) -> Result<Sender, Error> {
        self.join(name, Role::Sender).map(Sender::new)
    }

    /// Joins the segment `name` as a receiver.
    ///
    /// # Errors
    ///
    /// See [`Error`]; [`Error::Occupied`] if the segment has its largest number of
    /// receivers.
    pub fn receiver(&self, name: &str) -> Result<Receiver, Error> {
        let endpoint = self.join(name, Role::Receiver)?;
        Ok(Receiver::new(endpoint, self.history))
    }

    /// Joins the segment `name` of a route or channel as a receiver for which no sender
    /// waits. It copies each message, and [`RecvError::Lagged`](crate::RecvError::Lagged)
    /// tells it how many it has missed. It counts as one of the receivers.
    ///
    /// ```
    /// # if blitz_io::ipc::is_supported() {
    /// use blitz_io::ipc::{RecvError, Route};
    /// # let name = &format!("observed-doc-{}", std::process::id());
    /// # let _ = r#"
    /// let name = "observed";
    /// # "#;
    /// let route = Route::builder().capacity(2);
    /// let (mut observer, mut sender) = (route.observer(name)?, route.sender(name)?);
    /// for number in 0..5_u8 {
    ///     sender.send(&[number])?; // there is always room
    /// }
    /// assert_eq!(observer.recv().unwrap_err(), RecvError::Lagged(3));
    /// assert_eq!(*observer.recv()?, [3]);
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`receiver`](Self::receiver), and [`Error::Setting`] for a queue, each of whose
    /// messages goes to one receiver only.
    pub fn observer(&self, name: &str) -> Result<Receiver, Error> {
        if self.kind == Kind::Queue {
            return Err(Error::Setting {
                setting: "observer",
                reason: "a queue has none: a message that one receiver sees is gone for the \
                         others"
                    .to_owned(),
            });
        }
        let endpoint = self.join(name, Role::Receiver)?;
        Ok(Receiver::observer(endpoint, self.history))
    }

    pub(crate) fn join(&self, name: &str, role: Role) -> Result<Endpoint, Error> {
        let settings = self.settings();
        settings.layout()?;
        if self.mode & 0o600 != 0o600 {
            return Err(Error::Setting {
                setting: "mode",
                reason: "must let the owner read and write".to_owned(),
            });
        }
        let path = self.path(name)?;
        let missing = if self.must_exist {
            Missing::Report
        } else {
            Missing::Make(&settings, self.mode)
        };
        let trust = Trust {
            mode: self.mode,
            owner: self.owner,
        };
        Segment::open(&path, missing, trust, |segment| {
            self.check(&segment.settings)?;
            Endpoint::join(segment, role)
        })
    }

    /// Returns where the segment `name` is. Makes the user's directory.
    pub(crate) fn path(&self, name: &str) -> Result<PathBuf, Error> {
        check_name(name)?;
        sys::supported()?;
        match &self.directory {
            Some(directory) => sys::check_directory(directory).map(|()| path_in(directory, name)),
            None => find(name, &sys::user_directory()?),
        }
    }

    pub(crate) fn settings(&self) -> Settings {
        let (senders, receivers) = match self.kind {
            Kind::Route => (1, DEFAULT_PARTICIPANTS),
            // All participants are equal, and are receivers to the segment.
            Kind::Semaphore | Kind::Barrier => (1, DEFAULT_MEMBERS),
            Kind::Event => (DEFAULT_PARTICIPANTS, DEFAULT_MEMBERS),
            _ => (DEFAULT_PARTICIPANTS, DEFAULT_PARTICIPANTS),
        };
        let max_len = self.max_len.unwrap_or(DEFAULT_MAX_LEN);
        Settings {
            kind: self.kind,
            capacity: self.capacity.unwrap_or(DEFAULT_CAPACITY).of(max_len),
            max_len,
            when_full: self.when_full.unwrap_or_default(),
            senders: self.senders.unwrap_or(senders),
            receivers: self.receivers.unwrap_or(receivers),
        }
    }

    /// Checks that the segment has the requested settings.
    pub(crate) fn check(&self, found: &Settings) -> Result<(), Error> {
        let when_full = self.when_full.map(|policy| policy as usize);
        let capacity = self.capacity.map(|capacity| capacity.of(found.max_len));
        let checks = [
            ("kind", Some(self.kind as usize), found.kind as usize),
            ("capacity", capacity, found.capacity),
            ("max_len", self.max_len, found.max_len),
            ("when_full", when_full, found.when_full as usize),
            ("max_senders", self.senders, found.senders),
            ("max_receivers", self.receivers, found.receivers),
        ];
        for (setting, wanted, found) in checks {
            if let Some(wanted) = wanted.filter(|&wanted| wanted != found) {
                let wanted = match self.capacity {
                    // As the program has asked for it, not as it is rounded.
                    Some(Capacity::Messages(count)) if setting == "capacity" => count,
                    _ => wanted,
                };
                return Err(Error::Mismatch {
                    setting,
                    wanted: wanted as u64,
                    found: found as u64,
                });
            }
        }
        Ok(())
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(crate) fn wants_history(&self) -> bool {
        self.history
    }
}

/// Returns where the segment `name` is, or will be, if no directory was set.
fn find(name: &str, directory: &Path) -> Result<PathBuf, Error> {
    let path = path_in(directory, name);
    if path.exists() {
        return Ok(path);
    }
    let others = sys::other_directories(directory);
    let mut paths = others.iter().map(|other| path_in(other, name));
    match paths.find(|other| segment::is_in_use(other)) {
        Some(found) => Err(Error::Elsewhere { path, found }),
        None => Ok(path),
    }
}

pub(crate) fn path_in(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.{ENDING}"))
}

fn check_name(name: &str) -> Result<(), Error> {
    let fault = |reason| {
        Err(Error::Name {
            name: name.to_owned(),
            reason,
        })
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() {
        return fault("it is empty");
    }
    if name.len() > MAX_NAME {
        return fault("it is longer than 200 bytes");
    }
    if name.starts_with('.') || !name.chars().all(allowed) {
        return fault("use letters, digits, '-', '_' and '.', and begin with no '.'");
    }
    Ok(())
}
