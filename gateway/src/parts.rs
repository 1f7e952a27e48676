//! The bytes of a frame where the engine has read them.
//!
//! The engine sends a long frame in fragments, so such a frame arrives in several buffers. Only a piece
//! of a message is that long, and its head is in the first buffer.

use std::borrow::Cow;

use zenoh::bytes::ZBytes;

use crate::wire::{FRAME, PIECE_HEAD};

/// The first part of a frame, which has its head, and the other parts.
pub struct Parts<'a> {
    first: Cow<'a, [u8]>,
    /// The frame, if it has more parts than the first.
    more: Option<&'a ZBytes>,
}

impl<'a> Parts<'a> {
    /// Returns the parts of a frame. A short frame is one part: it is copied if it is in several buffers.
    pub fn of(frame: &'a ZBytes) -> Self {
        match frame.slices().next() {
            Some(first) if frame.len() > FRAME && first.len() > PIECE_HEAD => Self {
                first: Cow::Borrowed(first),
                more: Some(frame),
            },
            _ => Self {
                first: frame.to_bytes(),
                more: None,
            },
        }
    }

    /// Returns the first part.
    pub fn first(&self) -> &[u8] {
        &self.first
    }

    /// Returns the parts after the first.
    pub fn rest(&self) -> impl Iterator<Item = &[u8]> {
        let slices = self.more.into_iter().flat_map(ZBytes::slices);
        slices.skip(1)
    }

    /// Returns the sum of the lengths of the parts after the first.
    pub fn rest_len(&self) -> usize {
        self.more.map_or(0, |frame| frame.len() - self.first.len())
    }
}
