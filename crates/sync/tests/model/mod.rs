//! What the models share.

use std::time::{Duration, Instant};

use blitz_sync::mutant;

/// Explores with up to `preemptions` of them, or fewer if the environment says:
/// once with every store in order, once with stores that may be late.
#[allow(dead_code)]
pub fn model(preemptions: usize, test: impl Fn() + Copy + Sync + Send + 'static) {
    model_in_order(preemptions, test);
    mutant::with_late_stores(|| model_in_order(preemptions, test));
}

/// The same with every store in order: for what does not publish lightly, except
/// by a lock that has models of its own.
#[allow(dead_code)]
pub fn model_in_order(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    let bound = builder.preemption_bound.unwrap_or(preemptions);
    builder.preemption_bound = Some(bound.min(preemptions));
    builder.check(test);
}

/// A deadline that passes only when the model says so.
#[allow(dead_code)]
pub fn soon() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}
