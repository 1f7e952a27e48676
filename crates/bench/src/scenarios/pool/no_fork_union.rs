//! Stands in for `fork_union` with musl: half of it is C++, and few systems have a C++ compiler for musl. The
//! scenarios then leave that contender out.

#![allow(dead_code)]

use std::convert::Infallible;

pub(super) struct ThreadPool(Infallible);

/// A loop, which has run when it is dropped.
pub(super) struct Operation;

pub(super) struct Prong {
    pub(super) task_index: usize,
}

impl ThreadPool {
    pub(super) fn try_spawn(_threads: usize) -> Result<ThreadPool, &'static str> {
        Err("fork_union is not built for musl")
    }

    pub(super) fn for_threads(&mut self, _: impl Fn(usize, usize) + Sync) -> Operation {
        match self.0 {}
    }

    pub(super) fn for_slices(&mut self, _: usize, _: impl Fn(Prong, usize) + Sync) -> Operation {
        match self.0 {}
    }

    pub(super) fn for_n_dynamic(&mut self, _: usize, _: impl Fn(Prong) + Sync) -> Operation {
        match self.0 {}
    }
}
