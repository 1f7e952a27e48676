//! The record of the events of a run, for pictures, and for profiles of what threads share.
//!
//! A run records only if the library has switched recording on. The last events are left out if there is no room.

use crate::shared::region::{EVENTS, Event, NAMES};
use crate::state::sim;

/// Adds an event. The number of points and the time are filled in.
pub unsafe fn record(event: Event, name: &[u8]) {
    let s = sim();
    let region = s.region();
    let at = region.happened as usize;
    if region.recording == 0 || at >= EVENTS {
        return;
    }
    region.events[at] = Event {
        now: s.now,
        step: region.points.load(core::sync::atomic::Ordering::Relaxed),
        name: place_of(name),
        ..event
    };
    region.happened += 1;
}

/// Returns where a name is in the shared memory. A name that finds no room is empty.
unsafe fn place_of(name: &[u8]) -> u32 {
    let s = sim();
    if let Some(at) = s.names.get(name) {
        return *at;
    }
    let region = s.region();
    let length = name.len().min(255);
    let at = region.names_length as usize;
    if at + 1 + length > NAMES {
        return 0;
    }
    region.names[at] = length as u8;
    region.names[at + 1..at + 1 + length].copy_from_slice(&name[..length]);
    region.names_length += 1 + length as u32;
    s.names.insert(name.to_vec(), at as u32);
    at as u32
}
