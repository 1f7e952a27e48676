//! The bytes of a frame where the engine has read them.
//!
//! A frame that is longer than what the engine sends at once arrives in several buffers. Of the frames
//! only a piece of a message is that long, and its head is in the first buffer.

use std::borrow::Cow;

use zenoh::bytes::ZBytes;

use crate::wire::{FRAME, PIECE_HEAD};

/// See the head of the file.
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

    /// Returns the others.
    pub fn rest(&self) -> impl Iterator<Item = &[u8]> {
        let slices = self.more.into_iter().flat_map(ZBytes::slices);
        slices.skip(1)
    }

    /// Returns the length of the others together.
    pub fn rest_len(&self) -> usize {
        self.more.map_or(0, |frame| frame.len() - self.first.len())
    }
}
