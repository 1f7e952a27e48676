//! The models of this crate, in one program.
#![cfg(loom)]

mod primitives;
mod ring;

use std::sync::Arc;

use blitz_io_ipc::kernel::model::Model;
use loom::thread::{self, JoinHandle};

/// Runs a participant in a thread of its own.
fn spawn<R: 'static>(model: &Arc<Model>, f: impl FnOnce(&Model) -> R + 'static) -> JoinHandle<R> {
    let model = model.clone();
    thread::spawn(move || f(&model))
}
