//! Frames from one host for one name, between the engine's callback and the task that uses them.
//!
//! The callback only copies a frame into the inbox. If there is no room, it drops the frame: the
//! sender sends it again, or the receiver reports a gap.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use blitz_io::sync::Notify;

/// See the head of the file.
pub struct Inbox {
    limit: usize,
    waiting: Mutex<Waiting>,
    arrived: Notify,
}

#[derive(Default)]
struct Waiting {
    frames: VecDeque<Vec<u8>>,
    bytes: usize,
    dropped: u64,
}

/// The cost of a frame besides its bytes.
const OVERHEAD: usize = 64;

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
    pub fn push(&self, frame: &[u8]) {
        let cost = frame.len() + OVERHEAD;
        let mut waiting = self.lock();
        if waiting.bytes + cost > self.limit {
            waiting.dropped += 1;
            return;
        }
        waiting.bytes += cost;
        waiting.frames.push_back(frame.to_vec());
        drop(waiting);
        self.arrived.notify_one();
    }

    /// Takes the oldest frame.
    pub fn pop(&self) -> Option<Vec<u8>> {
        let mut waiting = self.lock();
        let frame = waiting.frames.pop_front()?;
        waiting.bytes -= frame.len() + OVERHEAD;
        Some(frame)
    }

    /// Waits until a frame may be there.
    pub async fn arrived(&self) {
        self.arrived.notified().await;
    }

    /// Returns the bytes that wait, and how many frames were dropped.
    pub fn state(&self) -> (usize, u64) {
        let waiting = self.lock();
        (waiting.bytes, waiting.dropped)
    }
}
