//! `FileTimes`: the times of a file to change.

use std::time::SystemTime;

/// The times that [`File::set_times`](super::File::set_times) changes.
#[derive(Debug, Clone, Default)]
#[must_use = "must be applied to a file via `File::set_times` to have any effect"]
pub struct FileTimes {
    accessed: Option<SystemTime>,
    modified: Option<SystemTime>,
    #[cfg(any(windows, target_vendor = "apple"))]
    created: Option<SystemTime>,
}

impl FileTimes {
    /// Creates a value that changes no time.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the time of the last access.
    pub fn set_accessed(mut self, t: SystemTime) -> Self {
        self.accessed = Some(t);
        self
    }

    /// Sets the time of the last modification.
    pub fn set_modified(mut self, t: SystemTime) -> Self {
        self.modified = Some(t);
        self
    }

    /// Sets the time of creation.
    #[cfg(any(windows, target_vendor = "apple"))]
    pub fn set_created(mut self, t: SystemTime) -> Self {
        self.created = Some(t);
        self
    }

    /// Returns the time of the last modification, if it is to change.
    #[cfg(feature = "sim")]
    pub(super) fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    pub(super) fn to_std(&self) -> std::fs::FileTimes {
        #[cfg(target_vendor = "apple")]
        use std::os::darwin::fs::FileTimesExt;
        #[cfg(windows)]
        use std::os::windows::fs::FileTimesExt;

        let mut times = std::fs::FileTimes::new();
        if let Some(accessed) = self.accessed {
            times = times.set_accessed(accessed);
        }
        if let Some(modified) = self.modified {
            times = times.set_modified(modified);
        }
        #[cfg(any(windows, target_vendor = "apple"))]
        if let Some(created) = self.created {
            times = times.set_created(created);
        }
        times
    }
}
