//! Loops: every item once, reductions, early ends, panics, nested loops.

use std::ops::ControlFlow;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use blitz_io_pool::{
    for_each, for_each_chunk, for_each_init, map_reduce, map_reduce_ordered, try_for_each,
};
use blitz_io_testing::file_of_panic;

use crate::join::pool;

#[test]
fn every_item_is_run_once() {
    for threads in [1, 2, 5] {
        let pool = pool(threads);
        for (len, grain) in [
            (0, 1),
            (1, 1),
            (7, 2),
            (1000, 1),
            (1000, 333),
            (1000, 5000),
            (999, 0),
        ] {
            let seen: Vec<AtomicU8> = (0..len).map(|_| AtomicU8::new(0)).collect();
            let count = |item: usize| {
                seen[item].fetch_add(1, Ordering::Relaxed);
            };
            pool.for_each(0..len, grain, count);
            pool.install(|| for_each(0..len, grain, count));
            assert!(
                seen.iter().all(|n| n.load(Ordering::Relaxed) == 2),
                "{threads} {len} {grain}"
            );
        }
    }
}

#[test]
fn a_range_that_is_empty_or_ends_at_the_last_number() {
    for_each(5..5, 1, |_| panic!("there is nothing"));
    #[allow(clippy::reversed_empty_ranges, reason = "that is the point")]
    for_each(7..5, 0, |_| panic!("there is nothing"));
    let last = map_reduce(usize::MAX - 10..usize::MAX, 3, |n| n, usize::max);
    assert_eq!(last, Some(usize::MAX - 1));
    // This one would take forever; it must not overflow on the way.
    let broken = try_for_each(0..usize::MAX, 1, |_| ControlFlow::Break(()));
    assert!(broken.is_break());
}

#[test]
fn loops_in_loops_and_from_many_threads() {
    let two = pool(2);
    let count = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                two.for_each(0..20, 1, |_| {
                    for_each(0..20, 3, |_| {
                        count.fetch_add(1, Ordering::Relaxed);
                    });
                });
            });
        }
    });
    assert_eq!(count.into_inner(), 1600);
}

#[test]
fn chunks_cover_the_slice() {
    let mut items = vec![0_usize; 1003];
    for_each_chunk(&mut items, 10, |chunk, items| {
        assert!(items.len() == 10 || chunk == 100);
        items.fill(chunk + 1);
    });
    assert!(
        items
            .iter()
            .enumerate()
            .all(|(i, &item)| item == i / 10 + 1)
    );
}

#[test]
#[should_panic(expected = "at least one item")]
fn a_chunk_of_no_items_is_refused() {
    for_each_chunk(&mut [1, 2], 0, |_, _| {});
}

#[test]
fn a_panic_over_an_argument_names_the_callers_file() {
    let two = pool(2);
    let places = [
        file_of_panic(|| for_each_chunk(&mut [1, 2], 0, |_, _| {})),
        file_of_panic(|| two.for_each_chunk(&mut [1, 2], 0, |_, _| {})),
    ];
    assert_eq!(places, [file!(); 2]);
}

#[test]
fn a_state_belongs_to_one_thread_at_a_time() {
    let made = AtomicUsize::new(0);
    let three = pool(3);
    three.install(|| {
        for_each_init(
            0..1000,
            1,
            || made.fetch_add(1, Ordering::Relaxed),
            |state, _| assert!(*state < 4),
        );
    });
    assert!(made.into_inner() <= 4);
}

#[test]
fn reductions_of_nothing_one_and_many() {
    assert_eq!(map_reduce(0..0, 0, |n| n, |a, b| a + b), None);
    assert_eq!(map_reduce_ordered(3..4, 0, |n| n, |a, b| a + b), Some(3));
    assert_eq!(
        map_reduce(0..100_001, 0, |n| n as u64, |a, b| a + b),
        Some(5_000_050_000)
    );
}

#[test]
fn an_ordered_sum_of_floats_has_the_same_bits_with_any_number_of_threads() {
    let term = |n: usize| 1.0 / (n as f64 + 0.1);
    let sum = || {
        map_reduce_ordered(0..100_000, 128, term, |a, b| a + b)
            .unwrap()
            .to_bits()
    };
    let expected = pool(1).install(sum);
    for threads in [2, 3, 4] {
        assert_eq!(pool(threads).install(sum), expected);
    }
    // It is not commutative either: the result is in the order of the range.
    let text = map_reduce_ordered(0..30, 4, |n| n.to_string(), |a, b| a + &b).unwrap();
    assert_eq!(text, (0..30).map(|n| n.to_string()).collect::<String>());
}

#[test]
fn a_loop_that_is_ended_early_leaves_the_rest_out() {
    let ran = AtomicUsize::new(0);
    let result = try_for_each(0..1_000_000, 1, |_| {
        ran.fetch_add(1, Ordering::Relaxed);
        ControlFlow::Break(())
    });
    assert!(result.is_break());
    assert!(ran.into_inner() <= blitz_io_pool::current_num_threads() + 1);
    let all = try_for_each(0..10, 1, |_| ControlFlow::<()>::Continue(()));
    assert!(all.is_continue());
}

#[test]
fn a_loop_that_is_ended_early_returns_why() {
    /// Fails for one number, with a reason that is not `Copy`.
    fn check(n: usize) -> Result<(), String> {
        if n == 50 {
            return Err(format!("number {n}"));
        }
        Ok(())
    }
    for threads in [1, 3] {
        let pool = pool(threads);
        let failed = Err("number 50".to_owned());
        assert_eq!(pool.try_for_each(0..100, 1, check), failed);
        assert_eq!(pool.install(|| try_for_each(0..100, 7, check)), failed);
        assert_eq!(pool.try_for_each(0..50, 1, check), Ok(()));
        // A question mark decides the type.
        let nested = pool.try_for_each(0..100, 1, |n| {
            check(n)?;
            Ok(())
        });
        assert_eq!(nested, failed);

        let broken = pool.try_for_each(0..100, 1, |n| match n {
            50 => ControlFlow::Break(n),
            _ => ControlFlow::Continue(()),
        });
        assert_eq!(broken, ControlFlow::Break(50));
        let none = |n| (n != 50).then_some(());
        assert_eq!(pool.try_for_each(0..100, 1, none), None);
        assert_eq!(pool.try_for_each(0..50, 1, none), Some(()));
        assert_eq!(pool.try_for_each(0..0, 1, none), Some(()));
    }
}

#[test]
fn of_two_errors_the_first_is_returned_and_a_panic_is_before_both() {
    let one = pool(1);
    let first = one.install(|| try_for_each(0..100, 1, |n| if n < 3 { Ok(()) } else { Err(n) }));
    assert_eq!(first, Err(3), "one thread takes them in order");
    // Both have begun before either fails.
    let (two, both) = (pool(1), std::sync::Barrier::new(2));
    let fail = |n| {
        both.wait();
        assert_ne!(n, 1, "the panic");
        Err(n)
    };
    let both = AssertUnwindSafe(|| two.try_for_each(0..2, 1, fail));
    let payload = panic::catch_unwind(both).unwrap_err();
    assert!(
        payload
            .downcast_ref::<String>()
            .unwrap()
            .contains("the panic")
    );
}

#[test]
fn a_panic_ends_the_loop_and_leaves_the_pool_whole() {
    let two = pool(2);
    for _ in 0..20 {
        let result = panic::catch_unwind(AssertUnwindSafe(|| {
            two.for_each(0..100, 1, |n| assert_ne!(n, 50, "half way"));
        }));
        assert!(result.is_err());
    }
    two.for_each(0..100, 1, |_| {});
}

#[test]
fn items_that_wait_for_each_other_get_all_threads_although_there_are_fewer_processors() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) + 3;
    let (pool, arrived) = (pool(threads), AtomicUsize::new(0));
    let end = Instant::now() + Duration::from_secs(900);
    for round in 1..=3 {
        pool.for_each(0..threads, 1, |_| {
            arrived.fetch_add(1, Ordering::SeqCst);
            while arrived.load(Ordering::SeqCst) < round * threads {
                assert!(Instant::now() < end, "some items have no thread");
                std::thread::yield_now();
            }
        });
    }
}

#[test]
fn a_pool_has_each_loop_and_the_caller_takes_part() {
    let (two, me) = (pool(2), std::thread::current().id());
    let (mine, both) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let end = Instant::now() + Duration::from_secs(900);
    // Items that wait for each other: the third thread is the caller.
    let meet = |arrived: &AtomicUsize| {
        arrived.fetch_add(1, Ordering::SeqCst);
        while arrived.load(Ordering::SeqCst) < 3 {
            assert!(Instant::now() < end, "the caller takes no part");
            std::thread::yield_now();
        }
        mine.fetch_add((std::thread::current().id() == me).into(), Ordering::SeqCst)
    };
    let arrived = [const { AtomicUsize::new(0) }; 6];
    two.for_each(0..3, 1, |_| {
        meet(&arrived[0]);
    });
    let all = two.try_for_each(0..3, 1, |_| {
        meet(&arrived[1]);
        ControlFlow::<()>::Continue(())
    });
    assert!(all.is_continue());
    let state = || both.fetch_add(1, Ordering::SeqCst);
    two.for_each_init(0..3, 1, state, |_, _| {
        meet(&arrived[2]);
    });
    two.for_each_chunk(&mut [0; 6], 2, |_, _| {
        meet(&arrived[3]);
    });
    let count = |arrived| move |_| (meet(arrived), 1).1;
    assert_eq!(
        two.map_reduce(0..3, 1, count(&arrived[4]), |a, b| a + b),
        Some(3)
    );
    assert_eq!(
        two.map_reduce_ordered(0..3, 1, count(&arrived[5]), |a, b| a + b),
        Some(3)
    );
    assert_eq!((mine.into_inner(), both.into_inner()), (6, 3));
}
