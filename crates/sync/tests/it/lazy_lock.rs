//! `LazyLock`: the promises of the standard library's.

use blitz_io_sync::thread::LazyLock;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

const THREADS: usize = 8;
const POISONED: &str = "LazyLock instance has previously been poisoned";

fn panic_message<R>(f: impl FnOnce() -> R) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else {
        panic!("this should have panicked");
    };
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => (*payload.downcast::<&str>().expect("a message")).to_string(),
    }
}

fn failing() -> LazyLock<String> {
    LazyLock::new(|| resume_unwind(Box::new("on purpose")))
}

#[test]
fn made_at_the_first_look() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    static LAZY: LazyLock<Vec<i32>> = LazyLock::new(|| {
        CALLS.fetch_add(1, Ordering::Relaxed);
        vec![1, 2, 3]
    });
    assert_eq!(CALLS.load(Ordering::Relaxed), 0);
    thread::spawn(|| assert_eq!(LAZY.len(), 3)).join().unwrap();
    assert_eq!(*LAZY, [1, 2, 3]);
    assert_eq!(CALLS.load(Ordering::Relaxed), 1);
}

#[test]
fn default_makes_the_default() {
    let lazy: LazyLock<Mutex<u8>> = LazyLock::default();
    assert!(LazyLock::get(&lazy).is_none());
    *lazy.lock().unwrap() += 1;
    assert_eq!(*lazy.lock().unwrap(), 1);
}

#[test]
fn mutable_access() {
    let text = "abc".to_string();
    let mut lazy = LazyLock::new(move || text);
    assert_eq!(LazyLock::get_mut(&mut lazy), None);
    LazyLock::force_mut(&mut lazy).push('d');
    lazy.push('e');
    LazyLock::get_mut(&mut lazy).unwrap().push('f');
    assert_eq!(LazyLock::force(&lazy), "abcdef");
    assert_eq!(LazyLock::get(&lazy).map(String::as_str), Some("abcdef"));
}

#[test]
fn taken_apart() {
    let lazy: LazyLock<i32> = LazyLock::new(|| 7);
    let Err(init) = LazyLock::into_inner(lazy) else {
        panic!("nobody has looked")
    };
    assert_eq!(init(), 7);
    let lazy: LazyLock<i32> = LazyLock::new(|| 7);
    assert_eq!(*lazy, 7);
    assert_eq!(LazyLock::into_inner(lazy).unwrap(), 7);
}

#[test]
fn the_panic_of_the_closure_comes_through_and_poisons() {
    let mut lazy = failing();
    assert_eq!(panic_message(|| lazy.len()), "on purpose");
    assert_eq!(panic_message(|| lazy.len()), POISONED);
    assert_eq!(panic_message(|| lazy.push('x')), POISONED);
    assert_eq!(
        panic_message(|| LazyLock::force_mut(&mut lazy).len()),
        POISONED
    );
    assert_eq!(LazyLock::get(&lazy), None);
    assert_eq!(LazyLock::get_mut(&mut lazy), None);
    assert_eq!(format!("{lazy:?}"), "LazyLock(<uninit>)");
    assert_eq!(panic_message(|| LazyLock::into_inner(lazy)), POISONED);

    let mut lazy = failing();
    assert_eq!(panic_message(|| lazy.push('x')), "on purpose");
    assert_eq!(panic_message(|| lazy.len()), POISONED);
}

#[test]
fn waiters_are_told_of_the_panic() {
    let lazy: LazyLock<u8> = LazyLock::new(|| {
        thread::sleep(Duration::from_millis(20));
        resume_unwind(Box::new("on purpose"))
    });
    let start = Barrier::new(THREADS);
    let mut messages: Vec<String> = thread::scope(|s| {
        let look = || {
            start.wait();
            panic_message(|| *lazy)
        };
        let threads: Vec<_> = (0..THREADS).map(|_| s.spawn(look)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    messages.sort();
    assert_eq!(messages.pop().as_deref(), Some("on purpose"));
    assert!(messages.iter().all(|message| message == POISONED));
}

#[test]
fn a_closure_that_looks_at_its_own_value_is_told() {
    static LAZY: LazyLock<u8> = LazyLock::new(|| *LAZY);
    let message = panic_message(|| *LAZY);
    assert!(message.contains("waits for itself"), "{message}");
    assert_eq!(panic_message(|| *LAZY), POISONED);
}

#[test]
fn closure_and_value_are_dropped_once() {
    struct Counted<'a>(&'a AtomicUsize);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let (closures, values) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let counts = || {
        (
            closures.load(Ordering::Relaxed),
            values.load(Ordering::Relaxed),
        )
    };
    let new = |fails: bool| {
        let captured = Counted(&closures);
        let values = &values;
        LazyLock::new(move || {
            let _captured = captured;
            if fails {
                resume_unwind(Box::new("on purpose"));
            }
            Counted(values)
        })
    };

    drop(new(false));
    assert_eq!(counts(), (1, 0));
    let lazy = new(false);
    LazyLock::force(&lazy);
    assert_eq!(counts(), (2, 0));
    drop(lazy);
    assert_eq!(counts(), (2, 1));
    let lazy = new(true);
    panic_message(|| LazyLock::force(&lazy).0.load(Ordering::Relaxed));
    assert_eq!(counts(), (3, 1));
    drop(lazy);
    assert_eq!(counts(), (3, 1));
    let lazy = new(false);
    LazyLock::force(&lazy);
    drop(LazyLock::into_inner(lazy));
    assert_eq!(counts(), (4, 2));
    drop(LazyLock::into_inner(new(false)).err().unwrap());
    assert_eq!(counts(), (5, 2));
}

#[test]
fn traits() {
    fn check<T: Send + Sync + UnwindSafe + RefUnwindSafe>() {}
    check::<LazyLock<String>>();
    fn shareable<T: Sync>(_: &T) {}
    let number = Cell::new(1);
    // The closure is `Send`, but not `Sync`.
    let lazy = LazyLock::new(move || number.get());
    shareable(&lazy);
    assert_eq!(*lazy, 1);
    assert_eq!(format!("{lazy:?}"), "LazyLock(1)");
}

#[test]
fn stress() {
    const ROUNDS: usize = 400;
    let calls = AtomicUsize::new(0);
    let lazies: Vec<_> = (0..ROUNDS)
        .map(|round| {
            let calls = &calls;
            LazyLock::new(move || {
                calls.fetch_add(1, Ordering::Relaxed);
                if round % 8 == 0 {
                    thread::sleep(Duration::from_micros(100));
                }
                vec![round; 3]
            })
        })
        .collect();
    let start = Barrier::new(THREADS);
    let sum: usize = thread::scope(|s| {
        let look = || {
            start.wait();
            lazies
                .iter()
                .map(|lazy| lazy.iter().sum::<usize>())
                .sum::<usize>()
        };
        let threads: Vec<_> = (0..THREADS).map(|_| s.spawn(look)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert_eq!(sum, THREADS * 3 * ROUNDS * (ROUNDS - 1) / 2);
    assert_eq!(calls.load(Ordering::Relaxed), ROUNDS);
}
