//! Loops: empty loops, a counter, uneven items, and the cost of waiting for the next loop.

use std::cell::RefCell;
use std::ops::Range;
use std::thread;

use paralight::prelude::{ExactParallelSourceExt, ParallelIteratorExt};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::contenders::{fork_unions, ours, paralights, range, rayons};
use crate::cpu;
use crate::scenarios::prelude::*;

/// Returns fork_union with its body, if it is built and there are enough processors. Its threads neither sleep nor
/// yield: with more threads than processors, each of its loops takes several of the system's time
/// slices.
fn fork_union<B>(threads: usize, body: B) -> Option<(&'static str, B)> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    (cfg!(not(target_env = "musl")) && threads <= processors).then_some(("fork_union", body))
}

/// Runs a loop of `threads` items repeatedly, counts each item, and pauses before each
/// loop.
fn empty_loops(cx: &Context, threads: usize, pause: Duration, run: Loop<'_>) -> Measured {
    let ran = CachePadded::new(AtomicU64::new(0));
    let count = || {
        ran.fetch_add(1, Relaxed);
    };
    let (loops, span) = if pause.is_zero() {
        let (span, ()) = solo(|| (0..cx.ops).for_each(|_| run(&count)));
        (cx.ops, span)
    } else {
        let loops = cx.ops.min(100);
        let paused = (0..loops).map(|_| {
            thread::sleep(pause);
            let begin = Instant::now();
            run(&count);
            begin.elapsed()
        });
        (loops, Span::of(paused.sum()))
    };
    verify("items", loops * threads as u64, ran.load(Relaxed))?;
    Ok(Sample::new(span, loops))
}

/// A loop over as many items as there are threads.
type Loop<'a> = &'a dyn Fn(&(dyn Fn() + Sync));

/// Measures the empty loops of all pools in one way.
fn on_pools(
    scenario: Scenario,
    threads: usize,
    pause: Duration,
    measure: fn(&Context, usize, Duration, Loop<'_>) -> Measured,
) -> Scenario {
    scenario
        .threads(threads)
        .with(OURS, move |cx| {
            let pool = ours(threads);
            measure(cx, threads, pause, &|item| {
                pool.for_each(0..threads, 1, |_| item())
            })
        })
        .with("rayon", move |cx| {
            let pool = rayons(threads);
            measure(cx, threads, pause, &|item| {
                pool.broadcast(|_| item());
            })
        })
        .with_all(fork_union(threads, move |cx: &Context| {
            let pool = RefCell::new(fork_unions(threads));
            measure(cx, threads, pause, &|item| {
                drop(pool.borrow_mut().for_threads(|_, _| item()));
            })
        }))
        .with("paralight", move |cx| {
            let pool = RefCell::new(paralights(threads, false));
            measure(cx, threads, pause, &|item| {
                let items = range(threads);
                let pool = &mut **pool.borrow_mut();
                items.with_thread_pool(pool).for_each(|_| item());
            })
        })
}

pub(super) fn empty(id: &str, title: &str, ops: u64, threads: usize, pause: Duration) -> Scenario {
    let scenario = Scenario::new(7, format!("{id}_{threads}"), title, ops);
    on_pools(scenario, threads, pause, empty_loops).with("std", move |cx| {
        let cx = &Context {
            ops: cx.ops.min(100),
            ..*cx
        };
        empty_loops(cx, threads, pause, &|item| {
            thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(item))));
        })
    })
}

/// Returns the summand of one number: one multiplication that the compiler must keep.
#[inline(always)]
fn term(n: usize) -> u64 {
    black_box(n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60
}

/// Returns the sum of these terms. It is the same machine code for every contender: how
/// long a value takes through memory depends, on some processors, on how the compiler
/// addresses it.
#[inline(never)]
fn terms(items: Range<usize>) -> u64 {
    items.map(term).sum()
}

/// A counter, divided into four pieces for each thread.
#[derive(Clone, Copy)]
struct Pieces {
    len: usize,
    grain: usize,
}

impl Pieces {
    fn new(len: usize, threads: usize) -> Self {
        let grain = len.div_ceil(threads * 4);
        Self { len, grain }
    }

    fn count(self) -> usize {
        self.len.div_ceil(self.grain)
    }

    fn sum(self, piece: usize) -> u64 {
        terms(piece * self.grain..((piece + 1) * self.grain).min(self.len))
    }
}

fn counted(cx: &Context, len: usize, run: impl Fn() -> u64) -> Measured {
    let expected = terms(0..len);
    let rounds = (cx.ops / len as u64).max(1);
    let (span, sums) = solo(|| (0..rounds).map(|_| run()).sum::<u64>());
    verify("sum of the terms", expected * rounds, sums)?;
    Ok(Sample::new(span, rounds * len as u64))
}

pub(super) fn counter(name: &str, len: usize, threads: usize) -> Scenario {
    let id = format!("pool_counter_{name}_{threads}");
    let title = format!("Counter to {name}");
    let pieces = Pieces::new(len, threads);
    let scenario = Scenario::new(7, id, title, 4_000_000).threads(threads);
    scenario
        .with(OURS, move |cx| {
            let pool = ours(threads);
            counted(cx, len, || {
                let sum = AtomicU64::new(0);
                pool.for_each(0..pieces.count(), 1, |piece| {
                    sum.fetch_add(pieces.sum(piece), Relaxed);
                });
                sum.into_inner()
            })
        })
        .with("rayon", move |cx| {
            let pool = rayons(threads);
            counted(cx, len, || {
                let all = || (0..pieces.count()).into_par_iter();
                pool.install(|| all().map(|piece| pieces.sum(piece)).sum())
            })
        })
        .with_all(fork_union(threads, move |cx: &Context| {
            let pool = RefCell::new(fork_unions(threads));
            counted(cx, len, || {
                let sum = AtomicU64::new(0);
                drop(pool.borrow_mut().for_slices(len, |first, count| {
                    let items = first.task_index..first.task_index + count;
                    sum.fetch_add(terms(items), Relaxed);
                }));
                sum.into_inner()
            })
        }))
        .with("paralight", move |cx| {
            let pool = RefCell::new(paralights(threads, false));
            counted(cx, len, || {
                let pool = &mut **pool.borrow_mut();
                let all = range(pieces.count()).with_thread_pool(pool);
                all.map(|piece| pieces.sum(piece)).sum()
            })
        })
        .with("one thread", move |cx| counted(cx, len, || terms(0..len)))
}

/// Returns the cost of the item `n`: most items cost little, every hundredth a thousand
/// times that.
fn cost(n: usize) -> usize {
    if n % 100 == 7 { 20_000 } else { 20 }
}

fn uneven_items(cx: &Context, run: impl Fn(&(dyn Fn(usize) + Sync), usize)) -> Measured {
    let items = (cx.ops as usize / 20).max(100);
    let done = AtomicU64::new(0);
    let item = |n: usize| {
        let sum: u64 = (0..cost(n)).map(term).sum();
        done.fetch_add(black_box(sum).min(1), Relaxed);
    };
    let (span, ()) = solo(|| run(&item, items));
    verify("items", items as u64, done.load(Relaxed))?;
    Ok(Sample::new(span, items as u64))
}

pub(super) fn uneven(threads: usize) -> Scenario {
    let id = format!("pool_uneven_{threads}");
    let title = "Items that differ a thousandfold";
    let scenario = Scenario::new(7, id, title, 200_000).threads(threads);
    scenario
        .with(OURS, move |cx| {
            uneven_items(cx, |item, n| ours(threads).for_each(0..n, 0, item))
        })
        .with("rayon", move |cx| {
            uneven_items(cx, |item, n| {
                rayons(threads).install(|| (0..n).into_par_iter().for_each(item));
            })
        })
        .with_all(fork_union(threads, move |cx: &Context| {
            let pool = RefCell::new(fork_unions(threads));
            uneven_items(cx, |item, n| {
                drop(
                    pool.borrow_mut()
                        .for_n_dynamic(n, |each| item(each.task_index)),
                );
            })
        }))
        .with("paralight", move |cx| {
            let pool = RefCell::new(paralights(threads, true));
            uneven_items(cx, |item, n| {
                let pool = &mut **pool.borrow_mut();
                range(n).with_thread_pool(pool).for_each(item);
            })
        })
}

/// Measures the processor time of the whole process for an empty loop every ten
/// milliseconds. The other kept pools do nothing in this time.
pub(super) fn processor_time(threads: usize) -> Scenario {
    let pause = Duration::from_millis(10);
    let id = format!("pool_processor_time_{threads}");
    let scenario = Scenario::new(7, id, "Processor time of a loop every 10 ms", 100);
    on_pools(scenario, threads, pause, paced_loops)
}

fn paced_loops(cx: &Context, threads: usize, pause: Duration, run: Loop<'_>) -> Measured {
    let begin = cpu::of_process();
    let mut sample = empty_loops(cx, threads, pause, run)?;
    if let Some(used) = cpu::since(begin, cpu::of_process()) {
        sample.span.elapsed = used;
    }
    Ok(sample)
}
