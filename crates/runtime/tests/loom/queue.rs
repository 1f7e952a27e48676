//! Models of a worker's queue: nothing is lost, nothing is taken twice.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

use blitz_io_core::fences::model::with_late_stores;
use blitz_io_runtime::kernel::lifo_slot::LifoSlot;
use blitz_io_runtime::kernel::queue::Ring;
use blitz_io_runtime::kernel::run_batch::RunBatch;
use loom::cell::UnsafeCell;
use loom::thread;

use crate::token::Pointer;

fn model(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    let bound = builder.preemption_bound.unwrap_or(preemptions);
    builder.preemption_bound = Some(bound.min(preemptions));
    builder.check(test);
}

/// An item of the queues. Loom reports an access before the item is published, or two at
/// once.
struct Item(UnsafeCell<u32>);

/// Puts a new item into the world.
fn item() -> Pointer<Item> {
    Pointer(NonNull::from(Box::leak(Box::new(Item(UnsafeCell::new(0))))))
}

/// Takes an item out of the world; fails the second time.
fn finish(item: Pointer<Item>) -> usize {
    // SAFETY: the items live until `free`.
    unsafe { item.0.as_ref() }.0.with_mut(|times| {
        // SAFETY: loom verifies that no other thread uses it.
        unsafe {
            *times += 1;
            assert_eq!(*times, 1, "taken twice");
        }
    });
    1
}

/// Frees the items, after all threads have ended.
fn free(items: &[Pointer<Item>]) {
    for item in items {
        // SAFETY: they came from `item`, and no thread uses them any more.
        drop(unsafe { Box::from_raw(item.0.as_ptr()) });
    }
}

type Two = Ring<Pointer<Item>, 2>;
type Four = Ring<Pointer<Item>, 4>;

/// Shares something that loom can not drop after it has found a mistake: `unshare` drops it.
fn share<T>(value: T) -> Arc<ManuallyDrop<T>> {
    Arc::new(ManuallyDrop::new(value))
}

/// Drops a shared value, after all threads have ended.
fn unshare<T>(shared: Arc<ManuallyDrop<T>>) {
    if let Ok(value) = Arc::try_unwrap(shared) {
        drop(ManuallyDrop::into_inner(value));
    }
}

/// Takes all that the owner's ring has.
fn drain<const N: usize>(ring: &Ring<Pointer<Item>, N>) -> usize {
    // SAFETY: called by the owner.
    std::iter::from_fn(|| unsafe { ring.pop() })
        .map(finish)
        .sum()
}

/// A thief, with a ring of its own.
fn thief<const N: usize>(victim: &Ring<Pointer<Item>, N>) -> usize {
    // loom can not drop it after it has found a mistake.
    let own = ManuallyDrop::new(Ring::<Pointer<Item>, N>::new());
    // SAFETY: it is our own ring.
    let Some((first, count)) = (unsafe { victim.steal_into(&own, 0) }) else {
        return 0;
    };
    let taken = finish(first) + drain(&own);
    assert_eq!(taken, count);
    let _own = ManuallyDrop::into_inner(own);
    taken
}

/// One thief, while the owner pushes and pops more than the ring holds.
fn laps() {
    model(3, || {
        let ring = share(Two::new());
        let items = [(); 4].map(|()| item());
        let other = {
            let ring = ring.clone();
            thread::spawn(move || thief(&ring))
        };
        let mut taken = 0;
        for item in items {
            // SAFETY: this thread is the owner.
            while unsafe { ring.push(item) }.is_err() {
                // SAFETY: this thread is the owner.
                taken += unsafe { ring.pop() }.map_or(0, finish);
            }
        }
        taken += drain(&ring);
        taken += other.join().unwrap();
        assert_eq!(taken, items.len(), "lost");
        free(&items);
        unshare(ring);
    });
}

/// Two thieves steal from the owner.
fn two_thieves() {
    model(2, || {
        let ring = share(Four::new());
        let items = [(); 3].map(|()| item());
        for item in items {
            // SAFETY: this thread is the owner.
            assert!(unsafe { ring.push(item) }.is_ok());
        }
        let others = [(); 2].map(|()| {
            let ring = ring.clone();
            thread::spawn(move || thief(&ring))
        });
        let mut taken = drain(&ring);
        for other in others {
            taken += other.join().unwrap();
        }
        assert_eq!(taken, items.len(), "lost");
        free(&items);
        unshare(ring);
    });
}

/// A thief is stolen from while it steals.
fn chain() {
    model(2, || {
        let (first, second) = (share(Four::new()), share(Four::new()));
        let items = [(); 4].map(|()| item());
        for item in items {
            // SAFETY: no other thread has the ring yet.
            assert!(unsafe { first.push(item) }.is_ok());
        }
        let middle = {
            let (first, second) = (first.clone(), second.clone());
            thread::spawn(move || {
                // SAFETY: this thread owns the second ring.
                let stolen = unsafe { first.steal_into(&second, 0) };
                stolen.map_or(0, |(item, _)| finish(item)) + drain(&second)
            })
        };
        let mut taken = thief(&second);
        taken += drain(&first);
        taken += middle.join().unwrap();
        assert_eq!(taken, items.len(), "lost");
        free(&items);
        unshare(first);
        unshare(second);
    });
}

/// The owner's ring is full and spills while a thief steals.
fn spills() {
    model(3, || {
        let ring = share(Four::new());
        let items = [(); 4].map(|()| item());
        for item in items {
            // SAFETY: this thread is the owner.
            assert!(unsafe { ring.push(item) }.is_ok());
        }
        let other = {
            let ring = ring.clone();
            thread::spawn(move || thief(&ring))
        };
        let mut taken = 0;
        // SAFETY: this thread is the owner.
        let spilt =
            unsafe { ring.pop_many(|waiting| waiting / 2, |_, item| taken += finish(item)) };
        assert_eq!(taken, spilt);
        taken += drain(&ring);
        taken += other.join().unwrap();
        assert_eq!(taken, items.len(), "lost");
        free(&items);
        unshare(ring);
    });
}

/// The slot is filled, displaced and emptied while another worker reclaims it.
fn slot() {
    model(3, || {
        let slot = share(LifoSlot::new());
        let items = [(); 3].map(|()| item());
        let reclaimer = {
            let slot = slot.clone();
            thread::spawn(move || slot.reclaim().map_or(0, finish))
        };
        let mut taken = 0;
        for item in items {
            // SAFETY: this thread is the owner.
            taken += unsafe { slot.put(item) }.map_or(0, finish);
        }
        // SAFETY: this thread is the owner.
        taken += unsafe { slot.take() }.map_or(0, finish);
        taken += reclaimer.join().unwrap();
        // SAFETY: this thread is the owner.
        taken += unsafe { slot.take() }.map_or(0, finish);
        assert_eq!(taken, items.len(), "lost");
        free(&items);
        unshare(slot);
    });
}

/// Two reclaim it at once.
fn two_reclaimers() {
    model(2, || {
        let slot = share(LifoSlot::new());
        let items = [item()];
        // SAFETY: this thread is the owner.
        assert!(unsafe { slot.put(items[0]) }.is_none());
        let reclaimers = [(); 2].map(|()| {
            let slot = slot.clone();
            thread::spawn(move || slot.reclaim().map_or(0, finish))
        });
        // SAFETY: this thread is the owner.
        let mut taken = unsafe { slot.take() }.map_or(0, finish);
        for reclaimer in reclaimers {
            taken += reclaimer.join().unwrap();
        }
        // SAFETY: this thread is the owner.
        taken += unsafe { slot.take() }.map_or(0, finish);
        assert_eq!(taken, 1, "lost");
        free(&items);
        unshare(slot);
    });
}

/// The owner takes all through its batch, and fills it twice, while another worker reclaims it.
fn batch() {
    batch_reclaimed_by(1, 8, 3);
}

/// The owner fills its batch twice while two workers reclaim it, at once or one after the other.
fn batch_and_two_reclaimers() {
    batch_reclaimed_by(2, 6, 2);
}

/// The owner claims up to `most` in one step.
fn batch_reclaimed_by(reclaimers: usize, items: usize, most: usize) {
    // So that it is filled again: half of the ring, twice.
    assert!(items / 2 >= most && (items - most) / 2 >= 2);
    model(2, move || {
        let queues = share((RunBatch::new(), Ring::<Pointer<Item>, 8>::new()));
        let items: Vec<_> = (0..items).map(|_| item()).collect();
        let (batch, ring) = &**queues;
        for &item in &items {
            // SAFETY: this thread is the owner.
            assert!(unsafe { ring.push(item) }.is_ok());
        }
        let reclaimers: Vec<_> = (0..reclaimers)
            .map(|_| {
                let queues = queues.clone();
                thread::spawn(move || reclaim(&queues.0))
            })
            .collect();
        // SAFETY: this thread is the owner.
        let next = || unsafe { batch.take().or_else(|| batch.take_through(ring, most)) };
        let mut taken: usize = std::iter::from_fn(next).map(finish).sum();
        taken += reclaimers
            .into_iter()
            .map(|r| r.join().unwrap())
            .sum::<usize>();
        assert!(batch.is_empty());
        assert_eq!(taken, items.len(), "lost");
        free(&items);
        unshare(queues);
    });
}

fn reclaim(batch: &RunBatch<Pointer<Item>>) -> usize {
    let mut taken = 0;
    let count = batch.reclaim(|item| taken += finish(item));
    assert_eq!(taken, count);
    taken
}

/// A thief steals while the owner claims some.
fn batch_and_thief() {
    model(3, || {
        let queues = share((RunBatch::new(), Four::new()));
        let items = [(); 4].map(|()| item());
        let (batch, ring) = &**queues;
        for item in items {
            // SAFETY: this thread is the owner.
            assert!(unsafe { ring.push(item) }.is_ok());
        }
        let other = {
            let queues = queues.clone();
            thread::spawn(move || thief(&queues.1))
        };
        // SAFETY: this thread is the owner.
        let next = || unsafe { batch.take().or_else(|| batch.take_through(ring, 2)) };
        let mut taken: usize = std::iter::from_fn(next).map(finish).sum();
        taken += other.join().unwrap();
        assert_eq!(taken, items.len(), "lost");
        free(&items);
        unshare(queues);
    });
}

#[test]
fn nothing_is_lost_when_the_ring_goes_round() {
    laps();
}

#[test]
fn two_thieves_and_the_owner_share() {
    two_thieves();
}

#[test]
fn what_was_stolen_can_be_stolen_again() {
    chain();
}

#[test]
fn a_full_ring_spills_what_nobody_stole() {
    spills();
}

#[test]
fn the_slot_can_be_reclaimed() {
    slot();
    with_late_stores(slot);
}

#[test]
fn one_of_two_reclaimers_gets_the_slot() {
    two_reclaimers();
    with_late_stores(two_reclaimers);
}

#[test]
fn a_batch_can_be_reclaimed() {
    batch();
    with_late_stores(batch);
}

#[test]
fn two_may_want_to_reclaim_a_batch() {
    batch_and_two_reclaimers();
    with_late_stores(batch_and_two_reclaimers);
}

#[test]
fn a_thief_gets_what_is_not_claimed() {
    batch_and_thief();
}
