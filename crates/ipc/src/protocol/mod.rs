//! The protocols of events, semaphores and barriers, on the words of a segment.
//!
//! Such a segment has no ring in use, but a row of *entries*: 64-bit words, zero at first.
//! Each protocol says what its entries mean. Whoever waits sleeps on the event count
//! `published`; every change that somebody waits for is a sequentially consistent
//! read-modify-write of an entry, followed by a notify.

pub(crate) mod barrier;
pub(crate) mod event;
pub(crate) mod semaphore;
