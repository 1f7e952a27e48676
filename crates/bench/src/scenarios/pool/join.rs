//! Fork-join at every level: a recursion, and the sum of a tree.

use super::contenders::{chilis, ours, rayons};
use crate::scenarios::prelude::*;

fn fib(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = blitz_io_pool::join(|| fib(n - 1), || fib(n - 2));
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

/// A binary tree in an array.
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
            let (a, b) = blitz_io_pool::join(|| self.sum(left), || self.sum(right));
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
/// Calls with a `join` in each tree of this recursion.
const FIB_JOINS: u64 = 10_945;

/// Runs a recursion so many times on a pool of so many threads, and returns the sum of the results.
type Fibs = fn(usize, u64) -> u64;

const FIBS: [(&str, Fibs); 3] = [
    (OURS, |threads, n| {
        ours(threads).install(|| (0..n).map(|_| fib(FIB.0)).sum())
    }),
    ("rayon", |threads, n| {
        rayons(threads).install(|| (0..n).map(|_| fib_rayon(FIB.0)).sum())
    }),
    ("chili", |threads, n| {
        let mut scope = chilis(threads).scope();
        (0..n).map(|_| fib_chili(&mut scope, FIB.0)).sum()
    }),
];

fn fibs(cx: &Context, threads: usize, run: Fibs) -> Measured {
    let rounds = (cx.ops / FIB_JOINS).max(1);
    let (span, sum) = solo(|| run(threads, rounds));
    verify("sum of the numbers", FIB.1 * rounds, sum)?;
    Ok(Sample::new(span, rounds * FIB_JOINS))
}

pub(super) fn recursion(threads: usize) -> Scenario {
    let id = format!("pool_join_fib_{threads}");
    let scenario = Scenario::new(7, id, "A join of fib(20)", 1_000_000).threads(threads);
    scenario.with_all(FIBS.map(|(name, run)| (name, move |cx: &Context| fibs(cx, threads, run))))
}

/// Sums a tree so many times on a pool of so many threads, and returns the sum of the results.
type Sums = fn(usize, &Tree, u64) -> u64;

const SUMS: [(&str, Sums); 3] = [
    (OURS, |threads, tree, n| {
        ours(threads).install(|| (0..n).map(|_| black_box(tree).sum(0)).sum())
    }),
    ("rayon", |threads, tree, n| {
        rayons(threads).install(|| (0..n).map(|_| black_box(tree).sum_rayon(0)).sum())
    }),
    ("chili", |threads, tree, n| {
        let mut scope = chilis(threads).scope();
        (0..n)
            .map(|_| black_box(tree).sum_chili(&mut scope, 0))
            .sum()
    }),
];

fn trees(cx: &Context, threads: usize, run: Sums) -> Measured {
    let tree = Tree::new(10);
    let (expected, rounds) = (tree.0.iter().sum::<u64>(), (cx.ops / 1023).max(1));
    let (span, sum) = solo(|| run(threads, &tree, rounds));
    verify("sum of the nodes", expected * rounds, sum)?;
    Ok(Sample::new(span, rounds))
}

pub(super) fn tree(threads: usize) -> Scenario {
    let id = format!("pool_join_tree_1023_{threads}");
    let title = "Sum of a tree of 1,023 nodes";
    let scenario = Scenario::new(7, id, title, 1_000_000).threads(threads);
    scenario.with_all(SUMS.map(|(name, run)| (name, move |cx: &Context| trees(cx, threads, run))))
}
