//! The models of this crate, in one program.

#![cfg(loom)]

use blitz_io_models as model;

mod broadcast;
mod mpmc;
mod mpsc;
mod mpsc_order;
mod oneshot;
mod select;
mod watch;
