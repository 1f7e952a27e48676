//! Fork-join (tier 7): empty loops, a counter, recursion, uneven items, and a task that
//! awaits a loop. Each contender has a pool of its own with the same number of threads, made
//! once.

use std::hint::black_box;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;
use rayon::prelude::*;

use crate::scenario::{Context, Measured, OURS, Sample, Scenario, verify};
use crate::threads::{Span, solo};

/// The pool of `threads` threads that `make` makes, one for each number of threads.
fn cached<P>(pools: &'static [OnceLock<P>; 5], threads: usize, make: impl Fn() -> P) -> &'static P {
    pools[threads].get_or_init(make)
}

fn ours(threads: usize) -> &'static blitz_pool::ThreadPool {
    static POOLS: [OnceLock<blitz_pool::ThreadPool>; 5] = [const { OnceLock::new() }; 5];
    cached(&POOLS, threads, || {
        let pool = blitz_pool::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().expect("threads can be started")
    })
}

fn rayons(threads: usize) -> &'static rayon::ThreadPool {
    static POOLS: [OnceLock<rayon::ThreadPool>; 5] = [const { OnceLock::new() }; 5];
    cached(&POOLS, threads, || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().expect("threads can be started")
    })
}

fn chilis(threads: usize) -> &'static chili::ThreadPool {
    static POOLS: [OnceLock<chili::ThreadPool>; 5] = [const { OnceLock::new() }; 5];
    cached(&POOLS, threads, || {
        let config = chili::Config {
            thread_count: std::num::NonZero::new(threads),
            ..Default::default()
        };
        chili::ThreadPool::with_config(config)
    })
}

/// Runs a loop of `threads` items again and again, each counted, after a pause each time.
fn empty_loops(
    cx: &Context,
    threads: usize,
    pause: Duration,
    run: impl Fn(&(dyn Fn() + Sync)),
) -> Measured {
    let ran = CachePadded::new(AtomicU64::new(0));
    let count = || {
        ran.fetch_add(1, Relaxed);
    };
    let (mut span, loops) = (
        Span::default(),
        if pause.is_zero() {
            cx.ops
        } else {
            cx.ops.min(100)
        },
    );
    if pause.is_zero() {
        (span, ()) = solo(|| (0..loops).for_each(|_| run(&count)));
    } else {
        for _ in 0..loops {
            thread::sleep(pause);
            let begin = Instant::now();
            run(&count);
            span.elapsed += begin.elapsed();
        }
    }
    verify("items", loops * threads as u64, ran.load(Relaxed))?;
    Ok(Sample::new(span, loops))
}

fn empty(id: &str, title: &str, ops: u64, threads: usize, pause: Duration) -> Scenario {
    Scenario::new(7, format!("{id}_{threads}"), title, ops)
        .threads(threads)
        .with(OURS, move |cx| {
            let pool = ours(threads);
            empty_loops(cx, threads, pause, |item| {
                pool.for_each(0..threads, 1, |_| item())
            })
        })
        .with("rayon", move |cx| {
            let pool = rayons(threads);
            empty_loops(cx, threads, pause, |item| {
                pool.broadcast(|_| item());
            })
        })
        .with("std", move |cx| {
            let cx = &Context {
                ops: cx.ops.min(100),
                ..*cx
            };
            empty_loops(cx, threads, pause, |item| {
                thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(item))));
            })
        })
}

/// What the counter adds for one number: one multiplication that the compiler must do.
#[inline(always)]
fn term(n: usize) -> u64 {
    black_box(n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60
}

fn counted(cx: &Context, len: usize, run: impl Fn() -> u64) -> Measured {
    let expected = (0..len).map(term).sum::<u64>();
    let rounds = (cx.ops / len as u64).max(1);
    let (span, sums) = solo(|| (0..rounds).map(|_| run()).sum::<u64>());
    verify("sum of the terms", expected * rounds, sums)?;
    Ok(Sample::new(span, rounds * len as u64))
}

fn counter(name: &str, len: usize, threads: usize) -> Scenario {
    let title = format!("Counter to {name}");
    Scenario::new(
        7,
        format!("pool_counter_{name}_{threads}"),
        title,
        4_000_000,
    )
    .threads(threads)
    .with(OURS, move |cx| {
        let (pool, grain) = (ours(threads), len.div_ceil(threads * 4));
        counted(cx, len, || {
            let sum = AtomicU64::new(0);
            pool.for_each(0..len.div_ceil(grain), 1, |piece| {
                let items = piece * grain..((piece + 1) * grain).min(len);
                sum.fetch_add(items.map(term).sum(), Relaxed);
            });
            sum.into_inner()
        })
    })
    .with("rayon", move |cx| {
        let pool = rayons(threads);
        counted(cx, len, || {
            pool.install(|| (0..len).into_par_iter().map(term).sum())
        })
    })
    .with("one thread", move |cx| {
        counted(cx, len, || (0..len).map(term).sum())
    })
}

fn fib(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = blitz_pool::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn fib_rayon(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = rayon::join(|| fib_rayon(n - 1), || fib_rayon(n - 2));
    a + b
}

fn fib_chili(scope: &mut chili::Scope<'_>, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = scope.join(|s| fib_chili(s, n - 1), |s| fib_chili(s, n - 2));
    a + b
}

/// A binary tree of so many layers, in an array.
struct Tree(Vec<u64>);

impl Tree {
    fn new(layers: u32) -> Self {
        Self((0..(1 << layers) - 1).map(|n| n % 7).collect())
    }

    fn children(&self, node: usize) -> Option<(usize, usize)> {
        (2 * node + 2 < self.0.len()).then_some((2 * node + 1, 2 * node + 2))
    }

    fn sum(&self, node: usize) -> u64 {
        let below = self.children(node).map_or(0, |(left, right)| {
            let (a, b) = blitz_pool::join(|| self.sum(left), || self.sum(right));
            a + b
        });
        self.0[node] + below
    }

    fn sum_rayon(&self, node: usize) -> u64 {
        let below = self.children(node).map_or(0, |(left, right)| {
            let (a, b) = rayon::join(|| self.sum_rayon(left), || self.sum_rayon(right));
            a + b
        });
        self.0[node] + below
    }

    fn sum_chili(&self, scope: &mut chili::Scope<'_>, node: usize) -> u64 {
        let below = self.children(node).map_or(0, |(left, right)| {
            let (a, b) = scope.join(|s| self.sum_chili(s, left), |s| self.sum_chili(s, right));
            a + b
        });
        self.0[node] + below
    }
}

const FIB: (u32, u64) = (20, 6765);
/// Calls with a `join` in each tree of that recursion.
const FIB_JOINS: u64 = 10_945;

fn fibs(cx: &Context, run: impl Fn(u64) -> u64) -> Measured {
    let rounds = (cx.ops / FIB_JOINS).max(1);
    let (span, sum) = solo(|| run(rounds));
    verify("sum of the numbers", FIB.1 * rounds, sum)?;
    Ok(Sample::new(span, rounds * FIB_JOINS))
}

fn recursion(threads: usize) -> Scenario {
    Scenario::new(
        7,
        format!("pool_join_fib_{threads}"),
        "A join of fib(20)",
        1_000_000,
    )
    .threads(threads)
    .with(OURS, move |cx| {
        fibs(cx, |n| {
            ours(threads).install(|| (0..n).map(|_| fib(FIB.0)).sum())
        })
    })
    .with("rayon", move |cx| {
        fibs(cx, |n| {
            rayons(threads).install(|| (0..n).map(|_| fib_rayon(FIB.0)).sum())
        })
    })
    .with("chili", move |cx| {
        fibs(cx, |n| {
            let mut scope = chilis(threads).scope();
            (0..n).map(|_| fib_chili(&mut scope, FIB.0)).sum()
        })
    })
}

fn trees(cx: &Context, tree: &Tree, run: impl Fn(&Tree, u64) -> u64) -> Measured {
    let (expected, rounds) = (tree.0.iter().sum::<u64>(), (cx.ops / 1023).max(1));
    let (span, sum) = solo(|| run(tree, rounds));
    verify("sum of the nodes", expected * rounds, sum)?;
    Ok(Sample::new(span, rounds))
}

fn tree(threads: usize) -> Scenario {
    let id = format!("pool_join_tree_1023_{threads}");
    Scenario::new(7, id, "Sum of a tree of 1,023 nodes", 1_000_000)
        .threads(threads)
        .with(OURS, move |cx| {
            trees(cx, &Tree::new(10), |tree, n| {
                ours(threads).install(|| (0..n).map(|_| black_box(tree).sum(0)).sum())
            })
        })
        .with("rayon", move |cx| {
            trees(cx, &Tree::new(10), |tree, n| {
                rayons(threads).install(|| (0..n).map(|_| black_box(tree).sum_rayon(0)).sum())
            })
        })
        .with("chili", move |cx| {
            trees(cx, &Tree::new(10), |tree, n| {
                let mut scope = chilis(threads).scope();
                (0..n)
                    .map(|_| black_box(tree).sum_chili(&mut scope, 0))
                    .sum()
            })
        })
}

/// How much the item `n` costs: most of them little, every hundredth a thousand times that.
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

fn uneven(threads: usize) -> Scenario {
    Scenario::new(
        7,
        format!("pool_uneven_{threads}"),
        "Items that differ a thousandfold",
        200_000,
    )
    .threads(threads)
    .with(OURS, move |cx| {
        uneven_items(cx, |item, n| ours(threads).for_each(0..n, 0, item))
    })
    .with("rayon", move |cx| {
        uneven_items(cx, |item, n| {
            rayons(threads).install(|| (0..n).into_par_iter().for_each(item));
        })
    })
}

fn awaits(threads: usize) -> Scenario {
    Scenario::new(
        7,
        format!("pool_await_{threads}"),
        "A task awaits an empty loop",
        2_000,
    )
    .threads(threads)
    .with(OURS, move |cx| {
        let runtime = blitz_runtime::runtime::Builder::new_current_thread().build();
        let (runtime, pool) = (runtime.expect("a runtime"), ours(threads));
        let (span, ran) = solo(|| {
            runtime.block_on(async {
                let mut ran = 0;
                for _ in 0..cx.ops {
                    ran += pool
                        .run(move || looped(|f| pool.for_each(0..threads, 1, |_| f())))
                        .await;
                }
                ran
            })
        });
        verify("items", cx.ops * threads as u64, ran)?;
        Ok(Sample::new(span, cx.ops))
    })
    .with("tokio and rayon", move |cx| {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let (runtime, pool) = (runtime.expect("a runtime"), rayons(threads));
        let (span, ran) = solo(|| {
            runtime.block_on(async {
                let mut ran = 0;
                for _ in 0..cx.ops {
                    let work = move || looped(|f| drop(pool.broadcast(|_| f())));
                    ran += tokio::task::spawn_blocking(work)
                        .await
                        .expect("it does not panic");
                }
                ran
            })
        });
        verify("items", cx.ops * threads as u64, ran)?;
        Ok(Sample::new(span, cx.ops))
    })
}

/// How many items a loop has run.
fn looped(run: impl FnOnce(&(dyn Fn() + Sync))) -> u64 {
    let ran = AtomicU64::new(0);
    run(&|| {
        ran.fetch_add(1, Relaxed);
    });
    ran.into_inner()
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let pause = Duration::from_millis(5);
    let mut scenarios = Vec::new();
    for threads in [2, 4] {
        scenarios.push(empty(
            "pool_empty",
            "Empty loop",
            20_000,
            threads,
            Duration::ZERO,
        ));
        let title = "Empty loop after a pause of 5 ms";
        scenarios.push(empty("pool_empty_idle", title, 100, threads, pause));
        for (name, len) in [
            ("4k", 4 << 10),
            ("16k", 16 << 10),
            ("64k", 64 << 10),
            ("256k", 256 << 10),
            ("1m", 1 << 20),
            ("16m", 16 << 20),
        ] {
            scenarios.push(counter(name, len, threads));
        }
        scenarios.extend([
            recursion(threads),
            tree(threads),
            uneven(threads),
            awaits(threads),
        ]);
    }
    scenarios
}
