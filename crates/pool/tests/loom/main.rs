//! The models of this crate, in one program.
#![cfg(loom)]

mod deque;
mod latch;
mod loops;
mod sleep;

/// Explores with up to two preemptions, or fewer if the environment says so.
fn model(test: impl Fn() + Sync + Send + 'static) {
    blitz_io_models::model_in_order(2, test);
}
