//! Models of the ready list of `JoinSet`.

use crate::model;

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use blitz_io_runtime::kernel::ready_list::{Link, Pushed, ReadyList};
use loom::cell::UnsafeCell;
use loom::thread;
use model::{block_on_parking as block_on, model_in_order};

fn model(test: impl Fn() + Sync + Send + 'static) {
    model_in_order(3, test);
}

/// A link, and something that its pusher has written.
#[repr(C)]
struct Entry {
    link: Link,
    value: UnsafeCell<u32>,
}

/// A list with its entries. They are never freed, as the model keeps it.
struct List {
    ready: ReadyList,
    entries: [Entry; 2],
}

// SAFETY: the models check that no two threads use an entry at once.
unsafe impl Sync for List {}
// SAFETY: the models check that no two threads use an entry at once.
unsafe impl Send for List {}

impl List {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            ready: ReadyList::new(),
            entries: [(); 2].map(|()| Entry {
                link: Link::new(),
                value: UnsafeCell::new(0),
            }),
        })
    }

    /// Writes an entry's value, and pushes it. Whether the list was open.
    fn push(&self, i: usize) -> bool {
        let entry = &self.entries[i];
        // SAFETY: the model checker finds out whether it is.
        entry.value.with_mut(|value| unsafe { *value = 1 });
        let link = std::ptr::from_ref(entry).cast();
        // SAFETY: the entry has not been pushed, and stays.
        match unsafe { self.ready.push(link) } {
            Pushed::Done => true,
            Pushed::Wake(waker) => {
                waker.wake();
                true
            }
            Pushed::Closed => false,
        }
    }

    /// Counts the entries of a list that was taken, and checks that their values are
    /// visible.
    fn count(&self, mut link: *const Link) -> usize {
        let mut count = 0;
        while !link.is_null() {
            let entry = link.cast::<Entry>();
            // SAFETY: it is a link of this list, and was taken.
            unsafe {
                assert_eq!((*entry).value.with(|value| *value), 1);
                link = (*link).next();
            }
            count += 1;
        }
        count
    }

    fn take(&self) -> usize {
        // SAFETY: only one thread takes.
        self.count(unsafe { self.ready.take() })
    }

    fn wait(&self, waker: &Waker) -> bool {
        // SAFETY: only one thread waits.
        unsafe { self.ready.wait(waker) }
    }

    /// Takes until so many have come.
    fn take_all(&self, wanted: usize) {
        let mut count = 0;
        block_on(poll_fn(|context| {
            loop {
                count += self.take();
                if count == wanted {
                    return Poll::Ready(());
                }
                if self.wait(context.waker()) {
                    return Poll::Pending;
                }
            }
        }));
    }
}

fn spawn_push(list: &Arc<List>, i: usize) -> thread::JoinHandle<bool> {
    let list = list.clone();
    thread::spawn(move || list.push(i))
}

fn one_comes() {
    model(|| {
        let list = List::new();
        let other = spawn_push(&list, 0);
        list.take_all(1);
        assert!(other.join().unwrap());
    });
}

fn two_come() {
    model(|| {
        let list = List::new();
        let others = [0, 1].map(|i| spawn_push(&list, i));
        list.take_all(2);
        for other in others {
            assert!(other.join().unwrap());
        }
    });
}

/// A poll with another waker, while a link is pushed: the push wakes the later waker, or
/// the poll sees the link.
fn another_waker() {
    model(|| {
        let list = List::new();
        assert!(list.wait(Waker::noop()));
        let other = spawn_push(&list, 0);
        list.take_all(1);
        assert!(other.join().unwrap());
    });
}

/// A link ends the first wait while another one comes, and the owner waits again.
fn another_wait() {
    model(|| {
        let list = List::new();
        assert!(list.wait(Waker::noop()));
        let others = [0, 1].map(|i| spawn_push(&list, i));
        list.take_all(2);
        for other in others {
            assert!(other.join().unwrap());
        }
    });
}

/// A push to a closed list is refused, and the owner finds all earlier ones.
fn the_end() {
    model(|| {
        let list = List::new();
        let _ = list.wait(Waker::noop());
        let others = [0, 1].map(|i| spawn_push(&list, i));
        // SAFETY: only this thread does.
        let came = list.count(unsafe { list.ready.close() });
        let told = others.map(|other| usize::from(other.join().unwrap()));
        assert_eq!(told.iter().sum::<usize>(), came);
    });
}

models! { one_comes two_come another_waker another_wait the_end }

/// A pusher that has read the words of one wait must not end another with them. The words
/// would be those of a released waker; here they are only counted.
mod waits_are_told_apart {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    struct Numbered(&'static AtomicUsize);

    impl Wake for Numbered {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A push wakes the second waker if it replaced the first before any push.
    fn only_the_latest_is_woken() {
        model(|| {
            // Wakers are leaked, so that a mistake uses no freed memory.
            let counts: [&'static AtomicUsize; 2] =
                [(); 2].map(|()| &*Box::leak(Box::new(AtomicUsize::new(0))));
            let wakers = counts.map(|count| Waker::from(Arc::new(Numbered(count))));
            std::mem::forget(wakers.clone());
            std::mem::forget(wakers.clone());
            let list = List::new();
            assert!(list.wait(&wakers[0]));
            let other = spawn_push(&list, 0);
            let waits = list.wait(&wakers[1]);
            assert!(other.join().unwrap());
            let woken = counts.map(|count| count.load(Ordering::SeqCst));
            // A push wakes the waker that was registered at that time, and none between
            // the two registrations.
            if waits {
                assert_eq!(woken, [0, 1])
            } else {
                assert_eq!(woken[1], 0)
            }
            assert_eq!(list.take(), 1);
        });
    }

    #[test]
    fn holds() {
        only_the_latest_is_woken();
    }
}
