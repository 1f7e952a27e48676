//! With the feature `tracing`: a span for each task, with the target, the name and the
//! fields of Tokio's, so that tools that look for those find these. Without it, nothing of
//! this is called.

#[cfg_attr(not(feature = "tracing"), path = "trace/no_spans.rs")]
mod spans;

use std::panic::Location;

/// The metadata of a task for its span.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "only spans have it")]
pub(crate) struct SpawnMeta<'a> {
    pub(crate) name: Option<&'a str>,
    /// The size of the future or closure that the user gave.
    pub(crate) original_size: usize,
    pub(crate) spawned_at: &'static Location<'static>,
}

/// The [`SpawnMeta`] of a future or closure of this type that the caller was given.
macro_rules! spawn_meta {
    ($given:ty) => {
        $crate::api::trace::spawn_meta!($given, None)
    };
    ($given:ty, $name:expr) => {
        $crate::api::trace::SpawnMeta {
            name: $name,
            original_size: size_of::<$given>(),
            spawned_at: std::panic::Location::caller(),
        }
    };
}

pub(crate) use spans::*;
pub(crate) use spawn_meta;
