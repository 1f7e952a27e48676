//! The content of frames for a route or channel.

use crate::parts::Parts;
use crate::wire::{Items, Piece};

/// The beginning of a message in pieces.
pub struct Message<P> {
    /// Takes the bytes that follow.
    pub put: P,
    /// The number of bytes that `put` has taken.
    pub there: u64,
}

impl<P: FnMut(&[u8])> Message<P> {
    /// Adds the bytes of the next accepted piece.
    pub fn add(&mut self, piece: &Piece<'_>, frame: &Parts<'_>) {
        for bytes in std::iter::once(piece.bytes).chain(frame.rest()) {
            (self.put)(bytes);
            self.there += bytes.len() as u64;
        }
    }
}

/// The content of a frame.
pub enum Content<'a> {
    /// Whole messages.
    Batch(Items<'a>),
    /// A part of a message: the bytes of it in the first part of the frame.
    Piece(Piece<'a>),
}

impl Content<'_> {
    /// Returns `true` if this and `more` bytes are a frame whose messages fit into the segment.
    pub fn fits(&self, more: usize, max_len: usize) -> bool {
        match self {
            Self::Batch(items) => {
                more == 0 && items.into_iter().all(|item| item.bytes.len() <= max_len)
            }
            Self::Piece(piece) => {
                let end = piece.offset + (piece.bytes.len() + more) as u64;
                end <= piece.total && piece.total <= max_len as u64
            }
        }
    }
}
