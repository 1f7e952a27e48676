//! How long channels without a limit are. A thread looks at the channel to which it sends with each 1,024th value
//! that it sends, so no clock decides; and the receiver looks when it is dropped.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use blitz_io_futex::per_process::PerProcess;

use super::edges::{EVENTS, Side, lost};
use super::lock::{At, Lock};
use crate::Kind;
use crate::records::recording::block::Block;
use crate::records::recording::registry;

/// A thread looks once in this many sends.
const ONE_OF: u32 = 1_024;

/// Observations of a channel without a limit.
pub(super) struct Growth {
    /// The channel.
    pub(super) side: Side,
    block: &'static Block,
    /// The task or thread that has sent last, as a word.
    pub(super) sender: u64,
    /// The line at which that task was spawned, if a thread has polled it during a look.
    pub(super) sender_at: At,
    /// The task or thread that received last, as a word, or 0.
    pub(super) receiver: u64,
    /// The line at which that task was spawned, if a thread has polled it during a look.
    pub(super) receiver_at: At,
    /// The number of looks at which it was longer than before.
    pub(super) longer: u64,
    /// The number of looks at which it was shorter than before.
    pub(super) shorter: u64,
    /// Its length at the last look.
    pub(super) length: u64,
}

type Channels = HashMap<(u64, u32), Growth>;

static CHANNELS: PerProcess<Mutex<Channels>> = PerProcess::new(Mutex::default);
/// Not 0 if there are channels, so that the end of another channel takes no lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SENDS: Cell<u32> = const { Cell::new(0) };
}

pub(super) fn channels() -> MutexGuard<'static, Channels> {
    CHANNELS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns `true` if this thread looks at the channel to which it sends.
pub(super) fn is_due() -> bool {
    SENDS
        .try_with(|sends| {
            sends.set(sends.get().wrapping_add(1));
            sends.get() % ONE_OF == 0
        })
        .unwrap_or(false)
}

/// Looks at a channel to which a value was sent. `spawned_at`: returns the line at which the task with this word was spawned,
/// if the thread polls it.
pub(super) fn look(block: &'static Block, made_at: At, spawned_at: impl Fn(u64) -> At) {
    let Some(length) = length(block) else {
        return;
    };
    let lock = Lock::new(block, Kind::MpscReceive, made_at);
    let mut channels = channels();
    if channels.len() >= EVENTS && !channels.contains_key(&lock.id()) {
        drop(channels);
        return lost(|lost| &mut lost.events);
    }
    channels
        .entry(lock.id())
        .or_insert(Growth {
            side: Side::new(&lock, None),
            block,
            sender: 0,
            sender_at: None,
            receiver: 0,
            receiver_at: None,
            longer: 0,
            shorter: 0,
            length: 0,
        })
        .note(length, spawned_at);
    COUNT.store(channels.len(), Ordering::Relaxed);
}

/// Looks at a channel whose receiver is about to be dropped.
pub(super) fn last_look(block: &'static Block, spawned_at: impl Fn(u64) -> At) {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return;
    }
    if let Some(growth) = channels().get_mut(&(block.id(), block.generation())) {
        let length = length(block);
        growth.note(length.unwrap_or(growth.length), spawned_at);
    }
}

/// Returns the length of a channel, if it has no limit.
fn length(block: &'static Block) -> Option<u64> {
    let fill = registry::fill_of(block)?;
    fill.capacity.is_none().then_some(fill.used as u64)
}

impl Growth {
    fn note(&mut self, length: u64, spawned_at: impl Fn(u64) -> At) {
        self.longer += u64::from(length > self.length);
        self.shorter += u64::from(length < self.length);
        self.length = length;
        let block = self.block;
        let ends = [
            (&block.sender, &mut self.sender, &mut self.sender_at),
            (&block.receiver, &mut self.receiver, &mut self.receiver_at),
        ];
        for (word, known, at) in ends {
            let word = word.load(Ordering::Relaxed);
            let before = at.filter(|_| *known == word);
            (*known, *at) = (word, spawned_at(word).or(before));
        }
    }
}
