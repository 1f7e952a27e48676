//! Threads of a program that calls parking_lot and rayon by name, on the drop-in packages: an
//! unmodified rayon runs its jobs in an order that the seed decides, and a deadlock names the locks.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::thread;

use blitz_io::sim::Builder;
use parking_lot::Mutex;

/// Returns the message of the simulation `name`, which fails.
fn failure<F: Future<Output = ()> + 'static>(name: &str, test: fn() -> F) -> String {
    let run = || Builder::new().seeds(50).run_threads(name, test);
    let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    *panic.downcast::<String>().unwrap()
}

/// Takes two locks, one after the other, in two threads and in two orders.
async fn two_orders() {
    let locks = Arc::new([Mutex::new(()), Mutex::new(())]);
    let both = Arc::new(Barrier::new(2));
    let threads = [(0, 1), (1, 0)].map(|(one, other)| {
        let (locks, both) = (locks.clone(), both.clone());
        thread::spawn(move || {
            let _one = locks[one].lock();
            both.wait();
            let _other = locks[other].lock();
        })
    });
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn a_deadlock_of_parking_lot_names_both_locks() {
    let text = failure("a_deadlock_of_parking_lot_names_both_locks", two_orders);
    assert!(text.starts_with("deadlock, in run 1"), "{text}");
    assert!(text.contains("certain: deadlock"), "{text}");
    // Each has its holder, with the line.
    let (_, finding) = text.split_once("certain: deadlock").unwrap();
    let (finding, _) = finding.split_once("\n\n").unwrap();
    assert_eq!(finding.matches("for thread::Mutex #").count(), 2, "{text}");
    assert_eq!(finding.matches("held by thread").count(), 2, "{text}");
    assert_eq!(
        finding.matches(" since tests/threads.rs:").count(),
        2,
        "{text}"
    );
}

/// Waits for a job that needs a lock of the waiting thread.
async fn job_needs_a_lock() {
    let accounts = Mutex::new(());
    let _held = accounts.lock();
    rayon::join(|| drop(accounts.lock()), || ());
}

#[test]
fn a_deadlock_of_a_job_and_a_lock_names_both() {
    let text = failure(
        "a_deadlock_of_a_job_and_a_lock_names_both",
        job_needs_a_lock,
    );
    assert!(text.starts_with("deadlock, in run 1"), "{text}");
    assert!(text.contains("certain: deadlock"), "{text}");
    assert!(text.contains("for fork-join"), "{text}");
    assert!(text.contains("for thread::Mutex"), "{text}");
}

/// Two jobs lose an addition if they run at the same time.
async fn jobs_add() {
    let count = AtomicU32::new(0);
    let add = || {
        let before = count.load(Relaxed);
        // A call.
        thread::yield_now();
        count.store(before + 1, Relaxed);
    };
    rayon::join(add, add);
    assert_eq!(count.load(Relaxed), 2);
}

#[test]
fn jobs_of_rayon_run_in_each_order() {
    let text = failure("jobs_of_rayon_run_in_each_order", jobs_add);
    assert!(text.contains("assertion `left == right` failed"), "{text}");
    assert!(text.contains("to replay: BLITZ_SIM_SEED="), "{text}");
}
