//! All sources that are registered with one driver.
//!
//! The system knows an [`Entry`] by its token: the index of the entry, and a generation
//! that grows with each use of the index. Entries lie in pages that are never moved, and
//! never freed before the driver is. So a thread that has taken an event from the system
//! may look its entry up at any time, without a lock:
//!
//! 1. *Registered*: the entry has the generation of its token.
//! 2. *Removed*: the system has agreed to report no more events for the token, and the
//!    generation grows, under the lock of the entry. A thread may still have an event that
//!    was reported before. It compares the generations under the same lock, and drops the
//!    event. (Otherwise the next source might see for ever that it is closed.)
//! 3. *Given up*, once the source's owner uses the entry no more.
//! 4. *Used again*, for another source.
//!
//! If the system does not agree, for example because the descriptor has been closed and the
//! file lives on under another one, it may report events for ever. Then the entry is never
//! removed, and so not used again.

use std::sync::OnceLock;

use blitz_io_core::fences::after_rmw;
use blitz_io_futex::atomic::{AtomicUsize, Ordering};

use crate::kernel::bits::Bits;
use crate::kernel::entry::Entry;
use crate::kernel::wakers::Wakers;
use blitz_io_core::Lock;

/// The bits of a token that are the index.
const INDEX_BITS: u32 = if usize::BITS == 64 { 32 } else { 22 };
const INDEX_MASK: usize = (1 << INDEX_BITS) - 1;
/// The number of entries in the first page. Each page has twice as many as the one before.
const FIRST_PAGE: usize = 32;
const PAGES: usize = INDEX_BITS as usize - FIRST_PAGE.ilog2() as usize;
/// The number of entries in all pages. The largest tokens name none of them: those are the
/// selector's.
const MOST: usize = FIRST_PAGE * ((1 << PAGES) - 1);

/// The entries of a driver. The top of this file explains tokens and generations.
pub struct Entries {
    pages: [OnceLock<Box<[Entry]>>; PAGES],
    set: Lock<Set>,
    /// The number of registered entries.
    len: AtomicUsize,
}

struct Set {
    /// The indices that may be used again.
    free: Vec<usize>,
    /// The number of indices that have ever been used.
    used: usize,
    is_shut_down: bool,
}

/// The reason why an entry cannot be added.
pub enum Refused {
    /// The driver has been shut down.
    IsShutDown,
    /// There are as many sources as there may be.
    IsFull,
}

impl Entries {
    pub fn new() -> Self {
        Self {
            pages: [const { OnceLock::new() }; PAGES],
            set: Lock::new(Set {
                free: Vec::new(),
                used: 0,
                is_shut_down: false,
            }),
            len: AtomicUsize::new(0),
        }
    }

    /// Returns `true` if no entry is registered.
    ///
    /// This load and the change in [`add`](Self::add) are sequentially consistent. An
    /// owner announces that it sleeps and then calls this; another thread adds an entry
    /// and then checks whether the owner sleeps. At least one of the two sees the other.
    pub fn is_empty(&self) -> bool {
        self.len.load(Ordering::SeqCst) == 0
    }

    /// Makes the writes before an entry was added visible to a thread that has an event
    /// of it. The system does that anyway, but the memory model does not know it.
    #[inline]
    pub fn acquire(&self) {
        self.len.load(Ordering::Acquire);
    }

    /// Adds an entry, and returns it with its token. The entry is never moved while the
    /// driver is alive.
    pub fn add(&self) -> Result<(&Entry, usize), Refused> {
        let mut set = self.set.lock();
        if set.is_shut_down {
            return Err(Refused::IsShutDown);
        }
        let index = match set.free.pop() {
            Some(index) => index,
            None if set.used == MOST => return Err(Refused::IsFull),
            None => {
                set.used += 1;
                set.used - 1
            }
        };
        let (page, at) = position(index);
        let entries = self.pages[page].get_or_init(|| {
            let first = index - at;
            let entry = |at| Entry::new(first + at);
            (0..FIRST_PAGE << page).map(entry).collect()
        });
        let entry = &entries[at];
        entry.reuse();
        let token = token(entry);
        drop(set);
        self.len.fetch_add(1, Ordering::SeqCst);
        after_rmw();
        Ok((entry, token))
    }

    /// Handles bits that the system has reported for a token. Returns `true` if the token's
    /// entry has not been removed.
    #[inline]
    pub fn report(&self, token: usize, bits: Bits, wakers: &mut Wakers) -> bool {
        let (page, at) = position(token & INDEX_MASK);
        let entry = self
            .pages
            .get(page)
            .and_then(|entries| entries.get()?.get(at));
        entry.is_some_and(|entry| entry.report(token >> INDEX_BITS, bits, wakers))
    }

    /// Ends the use of a token: the system reports no more events for it.
    pub fn remove(&self, entry: &Entry, token: usize) {
        let _set = self.set.lock();
        if self::token(entry) == token {
            entry.end_generation();
            self.len.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Gives up an entry, which has no waiters. It is used again if it was
    /// [removed](Self::remove).
    pub fn give_up(&self, entry: &Entry, token: usize) {
        let mut set = self.set.lock();
        if self::token(entry) != token {
            set.free.push(entry.index);
        }
    }

    /// Ends all entries, and prevents new ones.
    pub fn shut_down(&self, wakers: &mut Wakers) {
        let mut set = self.set.lock();
        set.is_shut_down = true;
        for index in 0..set.used {
            let (page, at) = position(index);
            if let Some(entries) = self.pages[page].get() {
                entries[at].shut_down(wakers);
            }
        }
    }
}

/// Returns the page of an index, and the index within it.
fn position(index: usize) -> (usize, usize) {
    let page = (index / FIRST_PAGE + 1).ilog2() as usize;
    (page, index - FIRST_PAGE * ((1 << page) - 1))
}

fn token(entry: &Entry) -> usize {
    entry.index | entry.generation.load(Ordering::Relaxed) << INDEX_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::bits;

    #[test]
    fn every_index_has_a_position_of_its_own() {
        let mut expected = (0, 0);
        for index in 0..10 * FIRST_PAGE {
            assert_eq!(position(index), expected);
            expected.1 += 1;
            if expected.1 == FIRST_PAGE << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
        assert_eq!(position(MOST - 1).0, PAGES - 1);
        const { assert!(MOST < INDEX_MASK - 8) };
    }

    #[test]
    fn a_token_names_no_later_source() {
        let entries = Entries::new();
        let mut wakers = Wakers::new();
        let Ok((first, token)) = entries.add() else {
            panic!()
        };
        assert!(entries.report(token, bits::READABLE, &mut wakers));
        entries.remove(first, token);
        entries.remove(first, token);
        entries.give_up(first, token);
        assert!(entries.is_empty());
        let Ok((second, other)) = entries.add() else {
            panic!()
        };
        assert!(std::ptr::eq(first, second) && token != other);
        assert!(!entries.report(token, bits::ALL, &mut wakers));
        assert!(!second.ready(bits::ALL).is_ready());
        assert!(entries.report(other, bits::READABLE, &mut wakers));
        assert_eq!(second.ready(bits::ALL).bits, bits::READABLE);
    }
}
