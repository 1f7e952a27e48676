//! Models of the queue of waiters as tasks use it, and tasks beside threads.

use crate::model;

use std::future::Future;
use std::pin::{Pin, pin};
use std::ptr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use blitz_io_core::{List, Node, WaitQueue};
use loom::cell::UnsafeCell;
use loom::thread;
use model::{block_on, model_in_order as model, soon};

/// The smallest thing that tasks and threads can wait for: a number of permits,
/// which belongs to the holder of the queue's lock.
struct Gate {
    queue: WaitQueue,
    permits: UnsafeCell<u32>,
}

// SAFETY: the number is used under the lock, which loom checks.
unsafe impl Sync for Gate {}
// SAFETY: a number may go anywhere.
unsafe impl Send for Gate {}

impl Gate {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            queue: WaitQueue::new(),
            permits: UnsafeCell::new(0),
        })
    }

    fn count(&self, change: impl FnOnce(&mut u32)) {
        // SAFETY: the caller holds the lock, which loom checks.
        self.permits
            .with_mut(|permits| change(unsafe { &mut *permits }));
    }

    fn permits(&self) -> u32 {
        let mut result = 0;
        self.queue
            .locked(|_| self.count(|permits| result = *permits));
        result
    }

    /// Takes a permit, or joins the queue. Returns `true` if it took one.
    ///
    /// # Safety
    ///
    /// The node does not move as long as it is linked.
    unsafe fn take_or_join(&self, node: &Node) -> bool {
        self.queue.locked(|list| {
            let mut taken = false;
            self.count(|permits| {
                taken = *permits > 0;
                *permits -= u32::from(taken);
            });
            if !taken {
                // SAFETY: the caller keeps the node where it is.
                unsafe { list.push(node) };
            }
            taken
        })
    }

    fn release(&self) {
        let wake = self.queue.locked(|list| {
            let wake = list.choose_first();
            if wake.is_none() {
                self.count(|permits| *permits += 1);
            }
            wake
        });
        if let Some(wake) = wake {
            wake.wake();
        }
    }

    fn acquire(&self) -> Acquire<'_> {
        Acquire {
            gate: self,
            node: Node::new(()),
            progress: Progress::New,
        }
    }

    /// Waits as a thread. Returns `true` if it got the permit before its deadline.
    fn acquire_in_time(&self) -> bool {
        let node = Node::new(());
        // SAFETY: the node stays on this stack until `sleep` has unlinked it.
        unsafe { self.take_or_join(&node) || self.queue.sleep(&node, Some(soon())) }
    }
}

#[derive(PartialEq, Eq)]
enum Progress {
    New,
    Waits,
    Done,
}

struct Acquire<'a> {
    gate: &'a Gate,
    node: Node,
    progress: Progress,
}

impl Future for Acquire<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: nothing is moved out.
        let this = unsafe { self.get_unchecked_mut() };
        let waits = match this.progress {
            Progress::New => {
                // SAFETY: it is not linked yet.
                unsafe { this.node.arm(context.waker()) };
                // SAFETY: it is pinned, and `drop` unlinks it.
                !unsafe { this.gate.take_or_join(&this.node) }
            }
            Progress::Waits => this.gate.queue.still_waits(&this.node, context.waker()),
            Progress::Done => unreachable!("polled again"),
        };
        if waits {
            this.progress = Progress::Waits;
            return Poll::Pending;
        }
        this.progress = Progress::Done;
        Poll::Ready(())
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        if self.progress == Progress::Waits && !self.gate.queue.leave(&self.node) {
            // It has been chosen, and does not need it any more.
            self.gate.release();
        }
    }
}

fn poll(future: Pin<&mut Acquire<'_>>, waker: &Waker) -> bool {
    model::poll(future, waker).is_ready()
}

fn release_elsewhere(gate: &Arc<Gate>) -> thread::JoinHandle<()> {
    let gate = gate.clone();
    thread::spawn(move || gate.release())
}

fn a_task_waits() {
    model(3, || {
        let gate = Gate::new();
        let other = release_elsewhere(&gate);
        block_on(gate.acquire());
        other.join().unwrap();
        assert_eq!((gate.permits(), gate.queue.len()), (0, 0));
    });
}

fn two_tasks_wait() {
    model(3, || {
        let gate = Gate::new();
        let others = [(); 2].map(|()| {
            let gate = gate.clone();
            thread::spawn(move || block_on(gate.acquire()))
        });
        gate.release();
        gate.release();
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!((gate.permits(), gate.queue.len()), (0, 0));
    });
}

/// Never polled, polled once, polled to its end: whenever it is dropped, the
/// permit is either taken or still there.
fn a_future_is_dropped(polls: usize) {
    model(3, move || {
        let gate = Gate::new();
        let other = release_elsewhere(&gate);
        let mut taken = false;
        {
            let mut future = pin!(gate.acquire());
            for _ in 0..polls {
                taken = taken || poll(future.as_mut(), Waker::noop());
            }
        }
        other.join().unwrap();
        assert_eq!(gate.permits(), u32::from(!taken));
        assert!(gate.queue.is_empty());
    });
}

/// A waiter is dropped while another waits: its permit reaches the other.
fn a_chosen_one_leaves() {
    model(3, || {
        let gate = Gate::new();
        let mut first = Box::pin(gate.acquire());
        let taken = poll(first.as_mut(), Waker::noop());
        assert!(!taken);
        let second = {
            let gate = gate.clone();
            thread::spawn(move || block_on(gate.acquire()))
        };
        let other = release_elsewhere(&gate);
        drop(first);
        other.join().unwrap();
        second.join().unwrap();
        assert_eq!(gate.permits(), 0);
    });
}

fn the_waker_changes() {
    model(3, || {
        let gate = Gate::new();
        let other = release_elsewhere(&gate);
        let mut future = Box::pin(gate.acquire());
        if !poll(future.as_mut(), Waker::noop()) {
            block_on(future);
        }
        other.join().unwrap();
        assert_eq!(gate.permits(), 0);
    });
}

/// Joins a queue when it is woken.
struct Newcomer {
    queue: Arc<WaitQueue>,
    node: Node,
}

impl std::task::Wake for Newcomer {
    fn wake(self: Arc<Self>) {
        // SAFETY: it is not linked.
        unsafe { self.node.arm(Waker::noop()) };
        // SAFETY: it lives in the `Arc`, which the model keeps.
        unsafe { self.queue.join(&self.node) };
    }
}

fn a_newcomer_comes_during_notify_all() {
    model(3, || {
        let queue = Arc::new(WaitQueue::<()>::new());
        let newcomer = Arc::new(Newcomer {
            queue: queue.clone(),
            node: Node::new(()),
        });
        let old = [(); 2].map(|()| Box::pin(Node::<()>::new(())));
        for (node, waker) in old
            .iter()
            .zip([newcomer.clone().into(), Waker::noop().clone()])
        {
            // SAFETY: it is not linked yet.
            unsafe { node.arm(&waker) };
            // SAFETY: it is boxed, and stays until it has been chosen.
            unsafe { queue.join(node) };
        }
        assert_eq!(queue.notify_all(), 2);
        assert!(old.iter().all(|node| node.is_signalled()));
        assert!(!newcomer.node.is_signalled());
        assert!(queue.leave(&newcomer.node));
    });
}

/// Two threads that each wake all, and two that wait.
fn everybody_twice() {
    model(3, || {
        let gate = Gate::new();
        let mut futures = [(); 2].map(|()| Box::pin(gate.acquire()));
        let mut pending = 0;
        for future in &mut futures {
            pending += usize::from(!poll(future.as_mut(), Waker::noop()));
        }
        let other = {
            let gate = gate.clone();
            thread::spawn(move || gate.queue.notify_all())
        };
        let woken = gate.queue.notify_all();
        assert_eq!(woken + other.join().unwrap(), pending);
        for future in &mut futures {
            assert!(poll(future.as_mut(), Waker::noop()));
        }
    });
}

/// A thread whose time may be up, and a task behind or before it.
fn a_thread_beside_a_task() {
    model(3, || {
        let gate = Gate::new();
        let thread = {
            let gate = gate.clone();
            thread::spawn(move || gate.acquire_in_time())
        };
        let task = {
            let gate = gate.clone();
            thread::spawn(move || block_on(gate.acquire()))
        };
        gate.release();
        blitz_io_futex::model::expire();
        if thread.join().unwrap() {
            gate.release();
        }
        task.join().unwrap();
        assert_eq!((gate.permits(), gate.queue.len()), (0, 0));
    });
}

#[test]
fn a_task_is_woken() {
    a_task_waits();
}

#[test]
fn each_task_is_woken() {
    two_tasks_wait();
}

#[test]
fn a_permit_survives_the_drop_of_its_future() {
    a_future_is_dropped(0);
    a_future_is_dropped(1);
    a_future_is_dropped(2);
}

#[test]
fn what_one_leaves_reaches_the_next() {
    a_chosen_one_leaves();
}

#[test]
fn the_newest_waker_is_woken() {
    the_waker_changes();
}

#[test]
fn everybody_is_who_waited_when_it_began() {
    a_newcomer_comes_during_notify_all();
}

#[test]
fn everybody_is_woken_once() {
    everybody_twice();
}

#[test]
fn threads_and_tasks_wait_in_one_queue() {
    a_thread_beside_a_task();
}

#[test]
fn the_last_may_be_chosen_first() {
    model(3, || {
        let gate = Gate::new();
        let mut futures = [(); 3].map(|()| Box::pin(gate.acquire()));
        for future in &mut futures {
            assert!(!poll(future.as_mut(), Waker::noop()));
        }
        gate.queue.locked(|list| {
            assert!(ptr::eq(list.last().unwrap(), &raw const futures[2].node));
        });
        let choose = |which: fn(&mut List<()>) -> Option<_>| {
            gate.queue.locked(which).map(blitz_io_core::Wake::wake)
        };
        choose(List::choose_last).unwrap();
        assert!(poll(futures[2].as_mut(), Waker::noop()));
        choose(List::choose_first).unwrap();
        assert!(poll(futures[0].as_mut(), Waker::noop()));
        choose(List::choose_last).unwrap();
        assert!(poll(futures[1].as_mut(), Waker::noop()));
        assert!(choose(List::choose_last).is_none());
    });
}
