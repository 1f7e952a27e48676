//! The names of objects that were dropped while the recorder was on: their blocks are other objects' by the time at
//! which the recording is read.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use blitz_io_futex::per_process::PerProcess;

use super::event::of_block;
use crate::records::recording::block::Block;

/// The most names. Those of further objects are lost.
const MOST: usize = 1 << 14;

/// The name of an object, by the target of its events and the low bits of its generation.
pub(super) type Names = HashMap<(u64, u16), &'static str>;

static NAMES: PerProcess<Mutex<Names>> = PerProcess::new(Mutex::default);

pub(super) fn names() -> MutexGuard<'static, Names> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
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
    let Some(name) = name_of(block) else {
        return;
    };
    let mut names = names();
    if names.len() < MOST {
        names.insert((of_block(block), block.generation() as u16), name);
    }
}
