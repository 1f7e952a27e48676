//! How much of a model's interleavings loom explores.

use blitz_io_futex::fences::model::with_late_stores;
use loom::model::Builder;

/// Explores with up to `preemptions` of them, or fewer if the environment says so:
/// once with every store in order, once with stores that may be late.
pub fn model(preemptions: usize, test: impl Fn() + Copy + Sync + Send + 'static) {
    model_in_order(preemptions, test);
    with_late_stores(|| model_in_order(preemptions, test));
}

/// Explores as [`model`] does, but with every store in order: for code that publishes lightly only
/// inside of a lock with models of its own.
pub fn model_in_order(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    with(preemptions).check(test);
}

/// Explores as [`model_in_order`] does. A run may have ten times as many steps as loom allows by default.
pub fn model_with_long_runs(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut builder = with(preemptions);
    builder.max_branches = 10_000;
    builder.check(test);
}

fn with(preemptions: usize) -> Builder {
    let mut builder = Builder::new();
    let bound = builder.preemption_bound.unwrap_or(preemptions);
    builder.preemption_bound = Some(bound.min(preemptions));
    builder
}
