//! What the models share.

use std::time::{Duration, Instant};

/// Explores with up to `preemptions` of them, or fewer if the environment says.
pub fn model(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
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
