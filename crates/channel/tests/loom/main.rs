//! The models of this crate, in one program.

#![cfg(loom)]

mod model;

mod broadcast;
mod mpmc;
mod mpsc;
mod mpsc_order;
mod oneshot;
mod select;
mod watch;
