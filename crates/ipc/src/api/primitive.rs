use std::marker::PhantomData;
use std::path::PathBuf;

use crate::api::builder::Builder;
use crate::api::endpoint::{Endpoint, Role};
use crate::api::error::Error;
use crate::api::kind::Kind;
use crate::kernel::memory::ENTRY_LEN;

/// Builds or opens an [`Event`](crate::Event), [`Semaphore`](crate::Semaphore) or
/// [`Barrier`](crate::Barrier).
///
/// The first participant makes it; the others find it, and must ask for the same number of
/// ids, permits or parties.
#[derive(Clone, Debug)]
pub struct PrimitiveBuilder<T> {
    builder: Builder,
    count: usize,
    primitive: PhantomData<fn() -> T>,
}

/// The differences between the primitives, for their builder. The trait cannot be named
/// from outside.
pub trait Primitive {
    /// The kind of its segments.
    const KIND: Kind;
    /// The name of the count, as a setting.
    const SETTING: &'static str;
    /// The largest count.
    const MAX: usize;
}

impl<T: Primitive> PrimitiveBuilder<T> {
    pub(crate) fn new(count: usize) -> Self {
        // A number that is too large is refused when the segment is made.
        let len = count.saturating_mul(ENTRY_LEN);
        Self {
            builder: Builder::new(T::KIND).capacity(1).max_len(len),
            count,
            primitive: PhantomData,
        }
    }

    /// Sets the permissions of its file: see [`Builder::mode`](crate::Builder::mode).
    #[must_use]
    pub fn mode(mut self, mode: u32) -> Self {
        self.builder = self.builder.mode(mode);
        self
    }

    /// Allows that it belongs to another user: see
    /// [`Builder::allow_owner`](crate::Builder::allow_owner).
    #[must_use]
    pub fn allow_owner(mut self, user: u32) -> Self {
        self.builder = self.builder.allow_owner(user);
        self
    }

    /// Sets the directory of its file: see
    /// [`Builder::directory`](crate::Builder::directory).
    #[must_use]
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.builder = self.builder.directory(path);
        self
    }

    /// Sets whether it must exist: see [`Builder::must_exist`](crate::Builder::must_exist).
    #[must_use]
    pub fn must_exist(mut self, must_exist: bool) -> Self {
        self.builder = self.builder.must_exist(must_exist);
        self
    }

    /// Sets the maximum number of participants of a semaphore or barrier, or of listeners
    /// of an event. The default is 256; at most 448.
    #[must_use]
    pub fn max_participants(mut self, participants: usize) -> Self {
        self.builder = self.builder.max_receivers(participants);
        self
    }

    pub(crate) fn join(&self, name: &str, role: Role) -> Result<Endpoint, Error> {
        if self.count == 0 || self.count > T::MAX {
            return Err(Error::Setting {
                setting: T::SETTING,
                reason: format!("must be from 1 to {}", T::MAX),
            });
        }
        self.builder.join(name, role).map_err(|error| match error {
            Error::Mismatch {
                setting: "max_len",
                wanted,
                found,
            } => Error::Mismatch {
                setting: T::SETTING,
                wanted: wanted / ENTRY_LEN as u64,
                found: found / ENTRY_LEN as u64,
            },
            other => other,
        })
    }
}
