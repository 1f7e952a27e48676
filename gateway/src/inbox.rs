//! Frames from one host for one name, between the engine's callback and the task that uses them.
//!
//! The callback puts a frame into the inbox. A long frame stays in the buffers into which the engine has
//! read it. The callback copies a short one, because it would keep a whole buffer. If there is no room,
//! the callback drops the frame: the sender sends it again, or the receiver reports a gap.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use blitz_io::sync::Notify;
use zenoh::bytes::ZBytes;

use crate::wire::PIECE;

/// A bounded queue of frames from one host for one name.
pub struct Inbox {
    limit: usize,
    waiting: Mutex<Waiting>,
    arrived: Notify,
}

#[derive(Default)]
struct Waiting {
    /// Each frame with its cost.
    frames: VecDeque<(usize, ZBytes)>,
    bytes: usize,
    dropped: u64,
}

/// The cost of a frame besides its bytes.
const OVERHEAD: usize = 64;
/// The engine's buffers have this length.
const BUFFER: usize = 64 << 10;
/// An inbox with less than this has no room for a piece of a message.
pub const LEAST: usize = OVERHEAD + PIECE + 2 * BUFFER;

impl Inbox {
    /// Creates an inbox for this many bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            waiting: Mutex::default(),
            arrived: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a frame, if there is room. Never waits.
    pub fn push(&self, frame: &ZBytes) {
        // The sender of a frame decides how many buffers the frame is in.
        let buffers = frame.slices().count() * BUFFER;
        let keeps = frame.len() >= BUFFER / 2 && buffers <= frame.len() + 2 * BUFFER;
        let cost = OVERHEAD + if keeps { buffers } else { frame.len() };
        let mut waiting = self.lock();
        if waiting.bytes + cost > self.limit {
            waiting.dropped += 1;
            return;
        }
        waiting.bytes += cost;
        let frame = if keeps {
            frame.clone()
        } else {
            ZBytes::from(frame.to_bytes().into_owned())
        };
        waiting.frames.push_back((cost, frame));
        drop(waiting);
        self.arrived.notify_one();
    }

    /// Takes the oldest frame.
    pub fn pop(&self) -> Option<ZBytes> {
        let mut waiting = self.lock();
        let (cost, frame) = waiting.frames.pop_front()?;
        waiting.bytes -= cost;
        Some(frame)
    }

    /// Waits until a frame may have arrived.
    pub async fn arrived(&self) {
        self.arrived.notified().await;
    }

    /// Returns the number of bytes that wait, and the number of dropped frames.
    pub fn state(&self) -> (usize, u64) {
        let waiting = self.lock();
        (waiting.bytes, waiting.dropped)
    }
}
