//! Errors, panics and cancellation: a pipeline stops in order and reports why.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use blitz_io_pipeline::{Control, Error, Place, async_joined, batches, iter, joined, source};
use blitz_io_testing::file_of_panic;

#[test]
fn the_first_failure_in_input_order_is_reported() {
    for workers in [1, 2, 8] {
        let mut seen = Vec::new();
        let error = iter(0..1000_u64)
            .try_map(|n| {
                if n == 137 {
                    // Later items fail first in time.
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
                if n >= 137 { Err(n) } else { Ok(n) }
            })
            .for_each(|n| seen.push(n))
            .workers(workers)
            .run()
            .unwrap_err();
        let (item, place) = (137, Place::Stage);
        assert_eq!(
            error,
            Error::Failed {
                item,
                place,
                error: 137
            }
        );
        assert!(seen.into_iter().eq(0..137));
    }
}

#[test]
fn a_source_fails_after_its_items_were_written() {
    let mut n = 0..50;
    let mut seen = 0;
    let error = source(|| n.next().map(Some).ok_or("broken"))
        .for_each(|_| seen += 1)
        .workers(4)
        .run()
        .unwrap_err();
    assert_eq!(error.to_string(), "item 50, in the source: broken");
    assert_eq!(seen, 50);
}

#[test]
fn a_sink_fails_and_is_not_called_again() {
    let mut seen = 0;
    let error = iter(0..1000)
        .sink(|n| {
            seen += 1;
            if n == 77 { Err("full") } else { Ok(()) }
        })
        .workers(4)
        .run()
        .unwrap_err();
    assert_eq!(error.to_string(), "item 77, in the sink: full");
    assert_eq!(error.into_inner(), Some("full"));
    assert_eq!(seen, 78);
}

#[test]
fn the_other_sinks_write_what_came_before() {
    let mut seen = [0, 0];
    let [one, two] = &mut seen;
    let error = iter(0..100)
        .sinks(
            |n, emit| {
                emit.push_to(0, n);
                emit.push_to(1, n);
                Ok(())
            },
            [
                Box::new(|n| {
                    if n == 30 {
                        Err(n)
                    } else {
                        *one = n;
                        Ok(())
                    }
                }) as Box<dyn FnMut(i32) -> _ + Send>,
                Box::new(|n| {
                    *two = n;
                    Ok(())
                }),
            ],
        )
        .workers(3)
        .run();
    assert!(matches!(
        error,
        Err(Error::Failed {
            item: 30,
            place: Place::Sink(0),
            ..
        })
    ));
    assert_eq!(seen[0], 29);
    assert!(seen[1] >= 29);
}

#[test]
fn uneven_sources_are_an_error_whichever_ends_first() {
    for (a, b, workers) in [
        (5, 9, 1),
        (9, 5, 1),
        (5, 6, 4),
        (6, 5, 4),
        (0, 1, 2),
        (100, 5, 8),
    ] {
        let mut seen = 0;
        let next = |n: u64| {
            let mut numbers = 0..n;
            move || Ok::<_, &str>(numbers.next())
        };
        let error = joined([next(a), next(b)])
            .for_each(|_| seen += 1)
            .workers(workers)
            .run();
        let source = usize::from(b < a);
        assert_eq!(
            error,
            Err(Error::Uneven {
                item: a.min(b),
                source
            })
        );
        assert_eq!(seen, a.min(b));
    }
}

#[test]
fn a_failure_before_the_uneven_end_comes_first() {
    let next = |n: u64| {
        let mut numbers = 0..n;
        move || Ok(numbers.next())
    };
    let error = joined([next(5), next(9)])
        .try_map(|[n, _]| if n == 3 { Err("three") } else { Ok(n) })
        .for_each(|_| ())
        .workers(2)
        .run();
    assert!(matches!(
        error,
        Err(Error::Failed {
            item: 3,
            error: "three",
            ..
        })
    ));
}

/// Panics in one of the closures, at the tenth item.
fn panicking(place: usize, workers: usize) {
    let at = |here: usize, n: u64| assert!(here != place || n != 10, "on purpose");
    let mut numbers = 0..100;
    let _ = source(|| {
        let next = numbers.next();
        at(0, next.unwrap_or(0));
        Ok::<_, ()>(next)
    })
    .map_with(
        || assert!(place != 3, "on purpose"),
        |(), n| {
            at(1, n);
            Ok(n)
        },
    )
    .for_each(|n| at(2, n))
    .workers(workers)
    .run();
}

#[test]
fn a_panic_in_any_closure_goes_on_in_the_caller() {
    for place in 0..4 {
        for workers in [1, 2, 5] {
            let payload = catch_unwind(|| panicking(place, workers)).unwrap_err();
            assert_eq!(*payload.downcast::<&str>().unwrap(), "on purpose");
        }
    }
    panicking(4, 2);
}

#[test]
fn values_left_behind_are_dropped_once() {
    struct Counted<'a>(&'a AtomicU64);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let (made, dropped) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut n = 0;
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let _ = source(|| {
            made.fetch_add(1, Ordering::Relaxed);
            Ok::<_, ()>(Some(Counted(&dropped)))
        })
        .for_each(|_| {
            n += 1;
            assert!(n < 20);
        })
        .workers(4)
        .run();
    }));
    assert!(ended.is_err());
    assert_eq!(made.into_inner(), dropped.into_inner());
}

#[test]
fn cancelling_stops_before_the_next_closure() {
    for workers in [1, 2, 6] {
        let control = Control::new();
        let mut seen = 0;
        let error = source(|| Ok::<_, ()>(Some(())))
            .for_each(|()| {
                seen += 1;
                if seen == 100 {
                    control.cancel();
                }
            })
            .control(&control)
            .workers(workers)
            .capacity(1)
            .run();
        assert!(control.is_cancelled());
        assert_eq!(error, Err(Error::Cancelled { written: 100 }));
        assert_eq!(seen, 100);
    }
}

#[test]
fn a_run_that_was_cancelled_before_does_nothing() {
    let control = Control::new();
    control.cancel();
    let run = iter::<_, ()>(0..10)
        .for_each(|_| panic!())
        .control(&control)
        .run();
    assert_eq!(run, Err(Error::Cancelled { written: 0 }));
}

#[test]
#[should_panic = "there is no sink 1"]
fn pushing_to_a_sink_that_is_not_there_panics() {
    let _ = iter::<_, ()>(0..1)
        .flat_map(|n, emit| {
            emit.push_to(0, n);
            Ok(())
        })
        .sinks(
            |n, emit| {
                emit.push_to(1, n);
                Ok(())
            },
            [|_| Ok(())],
        )
        .run();
}

#[test]
#[should_panic = "at least one worker"]
fn no_workers_panic() {
    let _ = iter::<_, ()>(0..1).for_each(|_| ()).workers(0);
}

#[test]
#[should_panic = "room for at least one item"]
fn no_capacity_panics() {
    let _ = iter::<_, ()>(0..1).for_each(|_| ()).capacity(0);
}

/// Each closure panics over one of its own arguments.
#[test]
fn a_panic_over_an_argument_names_the_callers_file() {
    let numbers = || iter::<_, ()>(0..1);
    let none = || Vec::<fn(i32) -> Result<(), ()>>::new();
    let push_away = || {
        let stages = numbers().flat_map(|n, emit| {
            emit.push_to(1, n);
            Ok(())
        });
        let _ = stages.for_each(|_| ()).workers(1).run();
    };
    let places = [
        file_of_panic(|| numbers().for_each(|_| ()).workers(0)),
        file_of_panic(|| numbers().for_each(|_| ()).in_stages(0)),
        file_of_panic(|| numbers().for_each(|_| ()).capacity(0)),
        file_of_panic(|| batches::<_, ()>(0..1, 0)),
        file_of_panic(|| joined::<(), (), fn() -> _, 0>([])),
        file_of_panic(|| async_joined::<(), (), 0>([])),
        file_of_panic(|| numbers().sinks(|_, _| Ok(()), none())),
        file_of_panic(|| numbers().on_tasks().async_sinks::<()>(|_, _| Ok(()), [])),
        file_of_panic(push_away),
    ];
    assert_eq!(places, [file!(); 9]);
}

#[derive(Debug)]
struct Broken(std::num::ParseIntError);

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("broken")
    }
}

impl std::error::Error for Broken {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// Programs print an error and then its sources.
#[test]
fn a_chain_of_errors_has_each_text_once() {
    let failed = iter(["1", "x"])
        .try_map(|text| text.parse::<u32>().map_err(Broken))
        .for_each(drop)
        .workers(2)
        .run();
    let error = failed.unwrap_err();
    let mut texts = vec![error.to_string()];
    let mut next = std::error::Error::source(&error);
    while let Some(source) = next {
        texts.push(source.to_string());
        next = source.source();
    }
    let expected = [
        "item 1, in a stage: broken",
        "invalid digit found in string",
    ];
    assert_eq!(texts, expected);
}

#[test]
fn a_capacity_beyond_memory_is_refused_with_the_line_of_the_call() {
    let pipeline = || iter::<_, Infallible>(0..3).map(|n| n).for_each(drop);
    let place = file_of_panic(|| drop(pipeline().capacity(usize::MAX)));
    assert_eq!(place, file!());
    pipeline().capacity(1 << 12).run().unwrap();
}

#[test]
fn no_worker_is_started_after_the_end() {
    let started = AtomicUsize::new(0);
    let control = Control::new();
    control.cancel();
    let start = || started.fetch_add(1, Ordering::Relaxed);
    let ended = iter(0..3)
        .map_with(start, |_, n| Ok::<_, Infallible>(n))
        .for_each(drop)
        .workers(10_000)
        .control(&control)
        .run();
    assert_eq!(ended, Err(Error::Cancelled { written: 0 }));
    assert_eq!(started.into_inner(), 1);
}
