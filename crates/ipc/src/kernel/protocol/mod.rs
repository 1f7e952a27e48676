//! The protocols of events, semaphores and barriers, on the words of a segment.
//!
//! Such a segment uses no ring, but a row of *entries*: 64-bit words that are zero at
//! first. Each protocol defines the meaning of its entries. A waiter sleeps on the event
//! count `published`; every change for which a participant may wait is a sequentially
//! consistent read-modify-write of an entry, followed by a notification.

pub mod barrier;
pub mod event;
pub mod semaphore;
