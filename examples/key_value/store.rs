//! The keys and their values.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;

/// The value of a key. Lists, sets and hashes are never empty.
#[derive(Debug)]
pub enum Value {
    Text(Bytes),
    List(VecDeque<Bytes>),
    Set(BTreeSet<Bytes>),
    Hash(HashMap<Bytes, Bytes>),
}

#[derive(Debug)]
struct Entry {
    value: Value,
    until: Option<Instant>,
}

/// All keys, shared by the connections.
#[derive(Default)]
pub struct Store(Mutex<Keys>);

impl Store {
    /// Runs a command while no other command runs.
    pub fn with<R>(&self, run: impl FnOnce(&mut Keys) -> R) -> R {
        run(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Removes expired keys.
    pub fn expire(&self) {
        self.with(|keys| keys.expire(Instant::now()));
    }
}

/// The data that [`Store`] guards.
#[derive(Default)]
pub struct Keys {
    entries: HashMap<Bytes, Entry>,
    /// When a key may expire. If it was set again since then, it stays.
    deadlines: BTreeSet<(Instant, Bytes)>,
}

impl Keys {
    pub fn get(&mut self, key: &[u8]) -> Option<&mut Value> {
        let entry = self.entries.get_mut(key)?;
        let is_there = entry.until.is_none_or(|until| until > Instant::now());
        is_there.then_some(&mut entry.value)
    }

    /// Returns the value of the key, and makes it if there is none.
    pub fn get_or_insert(&mut self, key: &Bytes, new: impl FnOnce() -> Value) -> &mut Value {
        if self.get(key).is_none() {
            self.set(key, new(), None);
        }
        self.get(key).expect("it was inserted and does not expire")
    }

    pub fn set(&mut self, key: &Bytes, value: Value, until: Option<Instant>) {
        let key = own(key);
        if let Some(until) = until {
            self.deadlines.insert((until, key.clone()));
        }
        self.entries.insert(key, Entry { value, until });
    }

    /// Removes the key. Returns whether it existed.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        let was_there = self.get(key).is_some();
        self.entries.remove(key);
        was_there
    }

    /// Makes the key expire. Returns whether it exists.
    pub fn expire_at(&mut self, key: &Bytes, until: Instant) -> bool {
        if self.get(key).is_none() {
            return false;
        }
        if let Some(entry) = self.entries.get_mut(key) {
            entry.until = Some(until);
            self.deadlines.insert((until, own(key)));
        }
        true
    }

    /// Returns when the key expires: `None` if there is no such key, `Some(None)` if it
    /// stays.
    pub fn deadline(&mut self, key: &[u8]) -> Option<Option<Instant>> {
        self.get(key)?;
        self.entries.get(key).map(|entry| entry.until)
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    fn expire(&mut self, now: Instant) {
        while let Some((until, _)) = self.deadlines.first().filter(|(until, _)| *until <= now) {
            let until = *until;
            let Some((_, key)) = self.deadlines.pop_first() else {
                return;
            };
            if self
                .entries
                .get(&key)
                .is_some_and(|entry| entry.until == Some(until))
            {
                self.entries.remove(&key);
            }
        }
    }
}

/// Copies the bytes, so that a key or a value does not keep the whole buffer into which it
/// was read.
pub fn own(bytes: &Bytes) -> Bytes {
    Bytes::copy_from_slice(bytes)
}
