//! Models of a worker's run queue: no task is lost, none is taken twice.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

use blitz_io_core::fences::model::with_late_stores;
use blitz_io_runtime::kernel::run_queue::RunQueue;
use loom::cell::UnsafeCell;
use loom::thread;

use crate::model::{Pointer, model_in_order as model};

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

/// A queue whose ring has `N` places.
type Queue<const N: usize> = RunQueue<Pointer<Item>, N>;

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

/// Makes a queue with so many tasks in its ring.
fn filled<const N: usize>(items: &[Pointer<Item>]) -> Arc<ManuallyDrop<Queue<N>>> {
    let queue = share(Queue::new());
    for &item in items {
        // SAFETY: this thread is the owner.
        assert!(unsafe { queue.push(item) }.is_ok());
    }
    queue
}

/// Takes the owner's tasks of the ring, up to `most` in one step, and runs them.
fn drain_by<const N: usize>(queue: &Queue<N>, most: usize) -> usize {
    // SAFETY: called by the owner.
    let next = || unsafe { queue.take_claimed().or_else(|| queue.pop_and_claim(most)) };
    std::iter::from_fn(next).map(finish).sum()
}

/// Takes the owner's tasks of the ring, one by one.
fn drain<const N: usize>(queue: &Queue<N>) -> usize {
    // SAFETY: called by the owner.
    std::iter::from_fn(|| unsafe { queue.pop_and_claim(1) })
        .map(finish)
        .sum()
}

/// Takes the task in the owner's slot.
fn take_lifo<const N: usize>(queue: &Queue<N>) -> usize {
    // SAFETY: called by the owner.
    unsafe { queue.take_lifo() }.map_or(0, finish)
}

/// Takes tasks into a queue of its own, as a stealer, and runs them.
fn take_into_own<const N: usize>(
    take: impl FnOnce(&Queue<N>) -> Option<(Pointer<Item>, usize)>,
) -> usize {
    // loom can not drop it after it has found a mistake.
    let own = ManuallyDrop::new(Queue::new());
    let Some((first, count)) = take(&own) else {
        return 0;
    };
    let taken = finish(first) + drain(&own);
    assert_eq!(taken, count);
    let _own = ManuallyDrop::into_inner(own);
    taken
}

fn steal<const N: usize>(victim: &Queue<N>) -> usize {
    // SAFETY: the other queue is this thread's.
    take_into_own(|own| unsafe { victim.steal_into(own) })
}

fn reclaim<const N: usize>(victim: &Queue<N>) -> usize {
    // SAFETY: the other queue is this thread's.
    take_into_own(|own| unsafe { victim.reclaim_into(own) })
}

/// Starts a thread that does something to a queue.
fn start<const N: usize>(
    queue: &Arc<ManuallyDrop<Queue<N>>>,
    act: fn(&Queue<N>) -> usize,
) -> thread::JoinHandle<usize> {
    let queue = queue.clone();
    thread::spawn(move || act(&queue))
}

/// Returns how many tasks these have taken.
fn join(threads: impl IntoIterator<Item = thread::JoinHandle<usize>>) -> usize {
    threads.into_iter().map(|t| t.join().unwrap()).sum()
}

/// Checks that all have been taken, and frees them with their queue.
fn end<const N: usize>(taken: usize, items: &[Pointer<Item>], queue: Arc<ManuallyDrop<Queue<N>>>) {
    assert!(!queue.has_tasks());
    assert_eq!(taken, items.len(), "lost");
    free(items);
    unshare(queue);
}

/// One thief, while the owner pushes and pops more than the ring holds.
fn laps() {
    model(3, || {
        let queue = filled::<2>(&[]);
        let items = [(); 4].map(|()| item());
        let thief = start(&queue, steal);
        let mut taken = 0;
        for item in items {
            // SAFETY: this thread is the owner.
            while unsafe { queue.push(item) }.is_err() {
                // SAFETY: this thread is the owner.
                taken += unsafe { queue.pop_and_claim(1) }.map_or(0, finish);
            }
        }
        taken += drain(&queue) + join([thief]);
        end(taken, &items, queue);
    });
}

/// Two thieves steal from the owner.
fn two_thieves() {
    model(2, || {
        let items = [(); 3].map(|()| item());
        let queue = filled::<4>(&items);
        let thieves = [(); 2].map(|()| start(&queue, steal));
        let taken = drain(&queue) + join(thieves);
        end(taken, &items, queue);
    });
}

/// A thief is stolen from while it steals.
fn chain() {
    model(2, || {
        let items = [(); 4].map(|()| item());
        let (first, second) = (filled::<4>(&items), filled::<4>(&[]));
        let middle = {
            let (first, second) = (first.clone(), second.clone());
            thread::spawn(move || {
                // SAFETY: this thread owns the second queue.
                let stolen = unsafe { first.steal_into(&second) };
                stolen.map_or(0, |(item, _)| finish(item)) + drain(&second)
            })
        };
        let taken = steal(&second) + drain(&first) + join([middle]);
        unshare(second);
        end(taken, &items, first);
    });
}

/// The owner's ring is full and spills while a thief steals.
fn spills() {
    model(3, || {
        let items = [(); 4].map(|()| item());
        let queue = filled::<4>(&items);
        let thief = start(&queue, steal);
        // SAFETY: this thread is the owner.
        let spilt = unsafe { queue.spill() };
        let mut taken = spilt.into_iter().map(finish).sum::<usize>();
        taken += drain(&queue) + join([thief]);
        end(taken, &items, queue);
    });
}

/// The slot is filled, displaced and emptied while another worker reclaims it.
fn slot() {
    model(3, || {
        let queue = filled::<2>(&[]);
        let items = [(); 3].map(|()| item());
        let reclaimer = start(&queue, reclaim);
        let mut taken = 0;
        for item in items {
            // SAFETY: this thread is the owner.
            taken += unsafe { queue.put_lifo(item) }.map_or(0, finish);
        }
        taken += take_lifo(&queue) + join([reclaimer]) + take_lifo(&queue);
        end(taken, &items, queue);
    });
}

/// Two reclaim it at once.
fn two_reclaimers() {
    model(2, || {
        let queue = filled::<2>(&[]);
        let items = [item()];
        // SAFETY: this thread is the owner.
        assert!(unsafe { queue.put_lifo(items[0]) }.is_none());
        let reclaimers = [(); 2].map(|()| start(&queue, reclaim));
        let taken = take_lifo(&queue) + join(reclaimers) + take_lifo(&queue);
        end(taken, &items, queue);
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
        let items: Vec<_> = (0..items).map(|_| item()).collect();
        let queue = filled::<8>(&items);
        let reclaimers: Vec<_> = (0..reclaimers).map(|_| start(&queue, reclaim)).collect();
        let taken = drain_by(&queue, most) + join(reclaimers);
        end(taken, &items, queue);
    });
}

/// One worker reclaims, while the owner empties its batch and uses its slot: one lock guards both.
fn batch_and_slot() {
    model(2, || {
        let items = [(); 6].map(|()| item());
        let queue = filled::<8>(&items[..4]);
        let reclaimer = start(&queue, reclaim);
        // SAFETY: this thread is the owner.
        let mut taken = unsafe {
            let first = queue.pop_and_claim(2).map_or(0, finish);
            let displaced = items[4..].iter().filter_map(|&item| queue.put_lifo(item));
            first + displaced.map(finish).sum::<usize>()
        };
        taken += drain_by(&queue, 2) + take_lifo(&queue) + join([reclaimer]);
        end(taken, &items, queue);
    });
}

/// A thief steals while the owner claims some.
fn batch_and_thief() {
    model(3, || {
        let items = [(); 4].map(|()| item());
        let queue = filled::<4>(&items);
        let thief = start(&queue, steal);
        let taken = drain_by(&queue, 2) + join([thief]);
        end(taken, &items, queue);
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
fn a_batch_and_a_slot_have_one_lock() {
    batch_and_slot();
    with_late_stores(batch_and_slot);
}

#[test]
fn a_thief_gets_what_is_not_claimed() {
    batch_and_thief();
}
