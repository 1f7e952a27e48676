//! What goes in comes out, in order, and once.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use blitz_io_pipeline::{Control, batches, iter, joined, source};

type Part<'a> = Box<dyn FnMut() -> Result<Option<u64>, Infallible> + Send + 'a>;

fn numbers<'a>(n: u64) -> Part<'a> {
    let mut numbers = 0..n;
    Box::new(move || Ok(numbers.next()))
}

/// Takes longer for some items than for others.
fn uneven_work(n: u64) -> u64 {
    (0..n * 7919 % 500).fold(n, |sum, n| std::hint::black_box(sum ^ n));
    n
}

#[test]
fn order_is_kept_for_every_size() {
    for workers in [1, 2, 3, 8] {
        for capacity in [1, 2, 5, 64] {
            let mut seen = Vec::new();
            let progress = iter::<_, Infallible>(0..500)
                .map(uneven_work)
                .for_each(|n| seen.push(n))
                .workers(workers)
                .capacity(capacity)
                .run()
                .unwrap();
            assert!(seen.iter().copied().eq(0..500));
            assert_eq!(
                (progress.read, progress.processed, progress.written),
                (500, 500, 500)
            );
        }
    }
}

#[test]
fn unordered_sinks_see_everything_once() {
    let mut seen = Vec::new();
    let pipeline = iter::<_, Infallible>(0..2000)
        .map(uneven_work)
        .for_each(|n| seen.push(n));
    pipeline.unordered().workers(4).run().unwrap();
    assert_eq!(seen.len(), 2000);
    assert_eq!(
        seen.into_iter().collect::<BTreeSet<_>>(),
        (0..2000).collect()
    );
}

#[test]
fn an_empty_source_ends_at_once() {
    let progress = iter::<u64_range::Range, Infallible>(0..0)
        .for_each(|_| panic!())
        .run();
    assert_eq!(progress.unwrap().written, 0);
}

mod u64_range {
    pub type Range = std::ops::Range<u64>;
}

#[test]
fn no_more_workers_than_allowed_are_in_the_stages() {
    for in_stages in [1, 2] {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let mut seen = Vec::new();
        let enter = |n| {
            most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            std::thread::yield_now();
            n
        };
        let leave = |n| {
            now.fetch_sub(1, Ordering::Relaxed);
            n
        };
        iter::<_, Infallible>(0..500)
            .map(enter)
            .map(uneven_work)
            .map(leave)
            .for_each(|n| seen.push(n))
            .workers(4)
            .in_stages(in_stages)
            .run()
            .unwrap();
        assert!(seen.into_iter().eq(0..500));
        assert!((1..=in_stages).contains(&most.into_inner()));
    }
}

#[test]
fn no_more_than_the_capacity_is_in_flight() {
    for capacity in [1, 3, 16] {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let mut n = 0..1000;
        source(|| {
            let next = n.next();
            if next.is_some() {
                most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            }
            Ok::<_, Infallible>(next)
        })
        .map(uneven_work)
        .for_each(|_| {
            now.fetch_sub(1, Ordering::Relaxed);
        })
        .workers(4)
        .capacity(capacity)
        .run()
        .unwrap();
        assert!(most.into_inner() <= capacity);
    }
}

#[test]
fn sources_are_joined_in_step() {
    let mut count = 0;
    joined([numbers(1000), numbers(1000), numbers(1000)])
        .map(|parts| {
            uneven_work(parts[0]);
            parts
        })
        .for_each(|parts| {
            assert_eq!(parts, [count; 3]);
            count += 1;
        })
        .workers(4)
        .run()
        .unwrap();
    assert_eq!(count, 1000);
}

#[test]
fn each_sink_gets_its_own_in_order() {
    let mut seen = [const { Vec::new() }; 3];
    let sinks = seen.iter_mut().map(|seen| {
        move |n: u64| {
            seen.push(n);
            Ok::<_, Infallible>(())
        }
    });
    iter(0..999)
        .map(uneven_work)
        .sinks(
            |n, emit| {
                emit.push_to((n % 3) as usize, n);
                emit.push(n); // The first sink gets everything.
                Ok(())
            },
            sinks,
        )
        .workers(4)
        .capacity(5)
        .run()
        .unwrap();
    assert_eq!(seen[0].len(), 999 + 333);
    assert!(seen[1].iter().copied().eq((0..999).filter(|n| n % 3 == 1)));
    assert!(seen[2].iter().copied().eq((0..999).filter(|n| n % 3 == 2)));
}

#[test]
fn a_stage_makes_none_one_or_many() {
    let mut seen = Vec::new();
    iter::<_, Infallible>(0..200_u64)
        .flat_map(|n, emit| {
            (0..n % 4).for_each(|i| emit.push(n * 10 + i));
            Ok(())
        })
        .flat_map(|n, emit| {
            emit.push(n);
            emit.push(n);
            Ok(())
        })
        .for_each(|n| seen.push(n))
        .workers(3)
        .run()
        .unwrap();
    let expected = (0..200).flat_map(|n| (0..n % 4).flat_map(move |i| [n * 10 + i; 2]));
    assert!(seen.into_iter().eq(expected));
}

#[test]
fn each_worker_makes_its_state_once() {
    let made = AtomicUsize::new(0);
    // The run does not end before all workers have begun.
    let all = std::sync::Barrier::new(4);
    let mut count = 0;
    batches::<_, Infallible>(0..10_000, 10)
        .map_with(
            || made.fetch_add(1, Ordering::Relaxed),
            |_, batch: Vec<u64>| {
                if batch[0] < 4 * 10 {
                    all.wait();
                }
                Ok(batch.len())
            },
        )
        .for_each(|length| count += length)
        .workers(4)
        .run()
        .unwrap();
    assert_eq!(count, 10_000);
    assert_eq!(made.into_inner(), 4);
}

#[test]
fn a_slow_item_does_not_keep_others_from_their_results() {
    // Workers take the next item: while one is busy with item 0, the others do everything
    // that the tokens allow.
    let others = AtomicUsize::new(0);
    iter::<_, Infallible>(0..16_usize)
        .map(|n| {
            if n == 0 {
                while others.load(Ordering::Acquire) < 7 {
                    std::thread::yield_now();
                }
            } else {
                others.fetch_add(1, Ordering::Release);
            }
        })
        .for_each(|()| ())
        .workers(2)
        .capacity(8)
        .run()
        .unwrap();
}

#[test]
fn pipelines_nest() {
    let mut sums = Vec::new();
    iter::<_, Infallible>(0..20_u64)
        .map(|n| {
            let mut sum = 0;
            let inner = iter::<_, Infallible>(0..n)
                .for_each(|n| sum += n)
                .workers(2);
            inner.run().unwrap();
            sum
        })
        .for_each(|sum| sums.push(sum))
        .workers(2)
        .run()
        .unwrap();
    assert!(sums.into_iter().eq((0..20).map(|n| (0..n).sum::<u64>())));
}

#[test]
fn progress_is_seen_from_inside_and_outside() {
    let control = Control::new();
    assert!(control.progress().is_none());
    let inside = control.clone();
    iter::<_, Infallible>(0..100_u64)
        .for_each(|n| {
            let progress = inside.progress().unwrap();
            assert!(progress.read > n && progress.processed > n && progress.written <= n);
            inside.add_bytes(3);
        })
        .control(&control)
        .workers(2)
        .run()
        .unwrap();
    let progress = control.progress().unwrap();
    assert_eq!((progress.written, progress.bytes), (100, 300));
    let ended = blitz_io_pipeline::Waits::Ended;
    assert_eq!(
        (progress.source, progress.stages, progress.sink),
        (ended, ended, ended)
    );
}
