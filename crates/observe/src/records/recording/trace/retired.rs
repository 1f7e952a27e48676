//! The names of objects that were dropped while the recorder was on, or the places that created them: their blocks are
//! other objects' by the time at which the recording is read.

use std::collections::HashMap;
use std::panic::Location;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use blitz_io_futex::per_process::PerProcess;

use super::event::of_block;
use crate::records::recording::block::Block;

/// The most names, and the most places. Those of further objects are lost.
const MOST: usize = 1 << 14;

/// An object, by the target of its events and the low bits of its generation.
type Key = (u64, u16);

/// The names of objects, and the places of those without a name.
#[derive(Default)]
pub(super) struct Retired {
    names: HashMap<Key, &'static str>,
    created: HashMap<Key, &'static Location<'static>>,
}

static RETIRED: PerProcess<Mutex<Retired>> = PerProcess::new(Mutex::default);

fn retired() -> MutexGuard<'static, Retired> {
    RETIRED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the name of an object that was dropped.
pub(super) fn name(key: Key) -> Option<&'static str> {
    retired().names.get(&key).copied()
}

/// Returns the place that created an object which was dropped.
pub(super) fn created_at(key: Key) -> Option<&'static Location<'static>> {
    retired().created.get(&key).copied()
}

/// Returns the name of the present object of a block.
pub(super) fn name_of(block: &Block) -> Option<&'static str> {
    // SAFETY: names are never freed.
    unsafe { block.name.load(Ordering::Acquire).as_ref() }.copied()
}

/// The object of the block is about to be dropped.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn retire(block: &'static Block) {
    let key = (of_block(block), block.generation() as u16);
    if let Some(name) = name_of(block) {
        let names = &mut retired().names;
        if names.len() < MOST {
            names.insert(key, name);
        }
        return;
    }
    // Locks and semaphores alone: a program that makes a channel for each request would use up the room.
    if let Some(place) = block.taken_at().and_then(|_| block.created_at()) {
        let created = &mut retired().created;
        if created.len() < MOST {
            created.insert(key, place);
        }
    }
}
