//! The slots of a wheel: eleven levels of 64.
//!
//! A tick is the unit of `ticks.rs`. Level 0 has a slot for each of the 64
//! ticks of the present round, level 1 a slot for each of its 64 rounds, and so on. A
//! tick is written as digits of six bits. The level of an entry is the highest digit in
//! which its tick differs from the present one; the slot is that digit. So:
//!
//! * The slots ahead always have a greater number than the present digit of their level.
//! * Two rounds never share a slot.
//! * The entries on a lower level come before all those on a higher one.
//!
//! This is the hierarchical wheel of Varghese and Lauck, "Hashed and hierarchical
//! timing wheels" (1987), with a level for each digit that a tick can have.
//!
//! A slot is a ring of links through the entries, with one link of its own. So an
//! entry leaves it without knowing which slot it is in. The bit that says that the slot may
//! hold entries stays set then; the next search for the first slot clears it.

use std::cell::Cell;
use std::ptr;
use std::task::Waker;

use blitz_io_core::Watched;

use super::entry::Entry;
use super::links::Links;

const LEVELS: usize = 11;
const BITS: usize = 6;
const SLOTS: usize = 1 << BITS;
/// Number of a slot's entries that are checked to find the first of them.
const LOOKED_AT: usize = 16;

/// Returns the first entry of a ring, or null.
fn first_of(ring: &Links) -> *const Entry {
    // The links are the first field of an entry.
    ring.first().cast()
}

/// The slot that comes up next.
struct Next<'a> {
    level: usize,
    ring: &'a Links,
    /// The tick at which it comes up: the first one of the slot.
    at: u64,
}

/// The slots of a wheel; see the module documentation. All of it belongs to the holder of the wheel's lock.
pub struct Slots {
    /// The present tick, up to which everything has been given out.
    elapsed: Cell<u64>,
    /// Which slots of each level may hold entries.
    occupied: [Cell<u64>; LEVELS],
    rings: [[Links; SLOTS]; LEVELS],
    /// Lets the model checker verify that only one thread uses them.
    user: Watched<()>,
}

impl Slots {
    /// Slots at tick zero. [`close`](Self::close) is still to be called.
    pub fn new() -> Self {
        Self {
            elapsed: Cell::new(0),
            occupied: [const { Cell::new(0) }; LEVELS],
            rings: [const { [const { Links::new() }; SLOTS] }; LEVELS],
            user: Watched::new(()),
        }
    }

    /// Called by a function that uses more than a link of a slot.
    #[inline(always)]
    fn touch(&self) {
        self.user.with_mut(|_| ());
    }

    /// Makes the rings. They must not move from now on.
    pub fn close(&self) {
        self.rings.iter().flatten().for_each(Links::close);
    }

    /// Begins at tick zero again. They must hold no entries, so each ring is empty.
    pub fn restart(&self) {
        self.elapsed.set(0);
        self.occupied.iter().for_each(|bits| bits.set(0));
    }

    /// Returns the tick up to which everything has been given out.
    #[inline]
    pub fn elapsed(&self) -> u64 {
        self.elapsed.get()
    }

    /// Puts an entry where it comes up at tick `when`, which is not before
    /// [`elapsed`](Self::elapsed).
    ///
    /// # Safety
    ///
    /// The entry is alive, does not move until it is unlinked, and is in no ring.
    #[inline]
    pub unsafe fn place(&self, entry: *const Entry, when: u64) {
        self.touch();
        debug_assert!(when >= self.elapsed.get());
        let differs = self.elapsed.get() ^ when;
        // SAFETY: the entry is alive, and belongs to the holder of the lock.
        unsafe { (*entry).placed_at(when) };
        let level = (differs | 1).ilog2() as usize / BITS;
        let slot = (when >> (level * BITS)) as usize % SLOTS;
        self.occupied[level].set(self.occupied[level].get() | 1 << slot);
        // SAFETY: the entry is alive, does not move until it is unlinked, and is in no ring.
        unsafe { self.rings[level][slot].push(entry.cast()) };
    }

    /// Finds the slot that comes up next.
    fn next(&self) -> Option<Next<'_>> {
        self.touch();
        for (level, (occupied, rings)) in self.occupied.iter().zip(&self.rings).enumerate() {
            let mut bits = occupied.get();
            while bits != 0 {
                let slot = bits.trailing_zeros();
                let ring = &rings[slot as usize];
                if !ring.is_empty() {
                    occupied.set(bits);
                    let digits = self.elapsed.get() >> (BITS * level);
                    let at =
                        (digits / SLOTS as u64 * SLOTS as u64 + u64::from(slot)) << (BITS * level);
                    return Some(Next { level, ring, at });
                }
                bits &= bits - 1;
            }
            occupied.set(0);
        }
        None
    }

    /// Returns the tick before which nothing has to be done. It may be too early, never too
    /// late. `None` if there is nothing.
    pub fn next_tick(&self) -> Option<u64> {
        let next = self.next()?;
        if next.level == 0 {
            return Some(next.at);
        }
        // The slot comes up before its first entry does. If the first entry can be found
        // cheaply, no worker has to wake up for the slot.
        let (mut first, mut links) = (u64::MAX, next.ring.next.get());
        for _ in 0..LOOKED_AT {
            // SAFETY: a link that is not the ring's is an entry's, and that is alive.
            first = first.min(unsafe { (*links.cast::<Entry>()).placed() });
            // SAFETY: a link that is not the ring's is an entry's, and that is alive.
            links = unsafe { (*links).next.get() };
            if ptr::eq(links, next.ring) {
                return Some(first);
            }
        }
        Some(next.at)
    }

    /// Returns the earliest entry that is due at tick `now`, or null. Of several entries
    /// of one tick, it is the entry that was linked first. It is still linked.
    ///
    /// The present advances to the tick of that entry, or to `now`.
    pub fn due(&self, now: u64) -> *const Entry {
        while let Some(next) = self.next() {
            if next.at > now {
                break;
            }
            self.elapsed.set(next.at);
            if next.level > 0 {
                // SAFETY: we hold the lock.
                unsafe { self.cascade(next.ring) };
                continue;
            }
            let entry = first_of(next.ring);
            // SAFETY: a linked entry is alive.
            let when = unsafe { (*entry).wanted() };
            if when <= next.at {
                return entry;
            }
            // Its owner has postponed it since it was linked here.
            // SAFETY: a linked entry is alive, and we hold the lock.
            unsafe { self.remove(&*entry) };
            // SAFETY: it has just left its ring.
            unsafe { self.place(entry, when) };
        }
        self.elapsed.set(self.elapsed.get().max(now));
        ptr::null()
    }

    /// Takes an entry out of its ring.
    ///
    /// # Safety
    ///
    /// It is in one of these, and the caller holds the lock.
    #[inline]
    pub unsafe fn remove(&self, entry: &Entry) {
        self.touch();
        // SAFETY: the entry is in one of these rings, and the caller holds the lock.
        unsafe { entry.links().unlink() };
    }

    /// Takes a linked entry out and marks it as `state`. Returns the waker, to be woken without
    /// the lock.
    ///
    /// # Safety
    ///
    /// It is alive and in one of these, and the caller holds the lock. It may have been freed
    /// when this returns.
    pub unsafe fn finish(&self, entry: *const Entry, state: u32) -> Option<Waker> {
        // SAFETY: it is linked, so alive, and the caller holds the lock.
        unsafe { self.remove(&*entry) };
        // SAFETY: it has just left its ring, and the caller holds the lock.
        unsafe { Entry::finish(entry, state) }
    }

    /// Moves the entries of a slot that has come up to where they belong now: to a lower
    /// level, or to any slot if their owners have postponed them.
    ///
    /// # Safety
    ///
    /// The caller holds the lock.
    unsafe fn cascade(&self, ring: &Links) {
        let taken = Links::new();
        // SAFETY: we hold the lock, and stay here until `taken` is empty.
        unsafe { taken.take_all(ring) };
        loop {
            let entry = first_of(&taken);
            if entry.is_null() {
                return;
            }
            // SAFETY: a linked entry is alive.
            let when = unsafe { (*entry).wanted() };
            // SAFETY: a linked entry is alive, and we hold the lock.
            unsafe { self.remove(&*entry) };
            // SAFETY: it has just left its ring.
            unsafe { self.place(entry, when.max(self.elapsed.get())) };
        }
    }

    /// Any entry, or null. For the end of the runtime.
    pub fn any(&self) -> *const Entry {
        self.next().map_or(ptr::null(), |next| first_of(next.ring))
    }
}
