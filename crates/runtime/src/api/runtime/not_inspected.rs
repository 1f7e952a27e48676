//! The functions of `inspected.rs` without the feature `inspect`: no runtime is known.

use std::io;

use super::Handle;
use crate::api::scheduler;

/// The recorder is not there.
#[derive(Default)]
pub(super) struct Tracing {}

/// Does nothing.
#[inline(always)]
pub(super) fn serve(_is_wanted: bool) -> io::Result<()> {
    Ok(())
}

/// Does nothing.
#[inline(always)]
pub(super) fn trace(_wanted: &mut Tracing) -> io::Result<()> {
    Ok(())
}

/// Does nothing.
#[inline(always)]
pub(super) fn ends(_handle: &Handle) {}

/// Keeps nothing.
#[inline(always)]
pub(super) fn register(inner: &scheduler::Handle) {
    inner.common().registered.keep(());
}
