//! Pools: how they are made, nested, and ended.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use blitz_io_pool::{Spin, ThreadPoolBuilder, Yield, join};

use crate::join::pool;

/// The variable `BLITZ_POOLS` raises the number of pools.
#[test]
fn many_pools_are_made_and_dropped() {
    let pools = std::env::var("BLITZ_POOLS").map_or(300, |pools| pools.parse().unwrap());
    let ended = Arc::new(AtomicUsize::new(0));
    for n in 0..pools {
        let counter = ended.clone();
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .exit_handler(move |_| {
                counter.fetch_add(1, Ordering::SeqCst);
            })
            .build()
            .unwrap();
        if n % 2 == 0 {
            assert_eq!(pool.join(|| 1, || 2), (1, 2));
        }
    }
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(900);
    while ended.load(Ordering::SeqCst) < 2 * pools {
        assert!(
            std::time::Instant::now() < deadline,
            "{ended:?} of {} threads have ended",
            2 * pools
        );
        std::thread::yield_now();
    }
}

#[test]
fn a_pool_can_be_dropped_inside_itself() {
    let (sender, receiver) = mpsc::channel();
    let pool = Arc::new(pool(2));
    let inside = pool.clone();
    pool.spawn(move || {
        drop(inside);
        sender.send(join(|| 1, || 2)).unwrap();
    });
    drop(pool);
    assert_eq!(receiver.recv(), Ok((1, 2)));
}

#[test]
fn pools_install_into_each_other() {
    let (a, b) = (pool(1), pool(1));
    // The only workers of both pools wait for each other, nested.
    let deep = a.install(|| b.install(|| a.install(|| b.install(|| 7))));
    assert_eq!(deep, 7);
    let indices = a.install(|| (a.current_thread_index(), b.current_thread_index()));
    assert_eq!(indices, (Some(0), None));
}

#[test]
fn a_panic_crosses_pools() {
    let (a, b) = (pool(1), pool(2));
    let result = panic::catch_unwind(AssertUnwindSafe(|| {
        a.install(|| b.install(|| panic!("far")))
    }));
    assert!(result.is_err());
    assert_eq!(a.install(|| b.install(|| 1)), 1);
}

#[test]
fn a_thread_that_cannot_be_started_is_an_error_and_the_others_end() {
    let ended = Arc::new(AtomicUsize::new(0));
    let counter = ended.clone();
    let mut threads = Vec::new();
    let error = ThreadPoolBuilder::new()
        .num_threads(4)
        .exit_handler(move |_| {
            counter.fetch_add(1, Ordering::SeqCst);
        })
        .spawn_handler(|thread| {
            if thread.index() == 2 {
                return Err(io::Error::other("no more threads"));
            }
            threads.push(std::thread::spawn(|| thread.run()));
            Ok(())
        })
        .build()
        .unwrap_err();
    assert_eq!(error.to_string(), "no more threads");
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(ended.load(Ordering::SeqCst), 2);
}

#[test]
fn the_current_thread_can_be_a_worker() {
    std::thread::spawn(|| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .use_current_thread()
            .build()
            .unwrap();
        assert_eq!(blitz_io_pool::current_thread_index(), Some(0));
        assert_eq!(pool.install(|| join(|| 1, || 2)), (1, 2));
        let (sender, receiver) = mpsc::channel();
        pool.spawn(move || sender.send(3).unwrap());
        assert_eq!(pool.current_thread_has_pending_tasks(), Some(true));
        assert_eq!(blitz_io_pool::yield_now(), Some(Yield::Executed));
        assert_eq!(receiver.recv(), Ok(3));
        assert_eq!(blitz_io_pool::yield_local(), Some(Yield::Idle));
        let again = ThreadPoolBuilder::new()
            .use_current_thread()
            .build()
            .unwrap_err();
        assert!(again.to_string().contains("already part of another"));
    })
    .join()
    .unwrap();
}

#[test]
fn scoped_threads_borrow_and_have_ended_when_it_returns() {
    let names = std::sync::Mutex::new(Vec::new());
    let sum = ThreadPoolBuilder::new()
        .num_threads(2)
        .thread_name(|n| format!("scoped {n}"))
        .build_scoped(
            |thread| {
                names
                    .lock()
                    .unwrap()
                    .push(thread.name().unwrap().to_owned());
                thread.run();
            },
            |pool| pool.install(|| join(|| 1, || 2)),
        )
        .unwrap();
    assert_eq!(sum, (1, 2));
    names.lock().unwrap().sort();
    assert_eq!(*names.lock().unwrap(), ["scoped 0", "scoped 1"]);
}

#[test]
fn a_pool_that_never_spins_works_as_well() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .spin(Spin::Never)
        .build()
        .unwrap();
    for n in 0..200 {
        assert_eq!(pool.join(|| n, || n + 1), (n, n + 1));
    }
}

#[test]
fn debug_output_names_what_there_is() {
    let builder = ThreadPoolBuilder::new()
        .num_threads(2)
        .panic_handler(|_| {});
    let text = format!("{builder:?}");
    assert!(
        text.starts_with("ThreadPoolBuilder { num_threads: 2"),
        "{text}"
    );
    assert!(text.contains("panic_handler: Some(<closure>)"), "{text}");
    assert!(
        format!("{:?}", builder.build().unwrap()).starts_with("ThreadPool { num_threads: 2, id: ")
    );
}
