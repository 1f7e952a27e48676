//! The models of this crate, in one program.

#![cfg(loom)]

mod model;

#[path = "loom_broadcast.rs"]
mod loom_broadcast;
#[path = "loom_mpmc.rs"]
mod loom_mpmc;
#[path = "loom_mpsc.rs"]
mod loom_mpsc;
#[path = "loom_mpsc_order.rs"]
mod loom_mpsc_order;
#[path = "loom_oneshot.rs"]
mod loom_oneshot;
#[path = "loom_select.rs"]
mod loom_select;
#[path = "loom_watch.rs"]
mod loom_watch;
