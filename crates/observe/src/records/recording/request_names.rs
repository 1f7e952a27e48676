//! The names of requests, each of which has a place.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use blitz_io_futex::per_process::PerProcess;

/// The most names. Requests with further names have none.
const NAMES: usize = 1 << 12;
/// The place of the name of such requests.
pub(super) const NO_NAME: u64 = 0;

/// The places of names, from 1.
static KNOWN: PerProcess<Mutex<HashMap<String, u64>>> = PerProcess::new(Mutex::default);

fn known() -> MutexGuard<'static, HashMap<String, u64>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the place of a name.
pub(super) fn place_of(name: &str) -> u64 {
    let mut known = known();
    if let Some(&place) = known.get(name) {
        return place;
    }
    if known.len() == NAMES {
        return NO_NAME;
    }
    let place = known.len() as u64 + 1;
    known.insert(name.to_owned(), place);
    place
}

/// Returns the names of requests, from place 1.
pub(super) fn names() -> Vec<String> {
    let known = known();
    let mut names = vec![String::new(); known.len()];
    for (name, &place) in known.iter() {
        names[place as usize - 1].clone_from(name);
    }
    names
}

/// Returns the name at a place.
pub(super) fn name(place: u64) -> Option<String> {
    if place == NO_NAME {
        return None;
    }
    let known = known();
    let mut all = known.iter();
    all.find(|(_, other)| **other == place)
        .map(|(name, _)| name.clone())
}
