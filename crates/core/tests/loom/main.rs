//! The models of this crate, in one program.

#![cfg(loom)]

use blitz_io_models as model;

mod biased_lock;
mod fences;
mod lease;
mod mutex;
mod parker;
mod wait_queue;
