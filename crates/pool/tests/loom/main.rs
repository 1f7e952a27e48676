//! The models of this crate, in one program.
#![cfg(loom)]

mod deque;
mod latch;
mod loops;
mod sleep;

/// Explores with up to two preemptions, or fewer if the environment says so.
fn model(test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(builder.preemption_bound.unwrap_or(2).min(2));
    builder.check(test);
}
