//! The tests of this crate that can share a process, in one program: it is linked once, not once
//! a file, for every system and sanitizer. A test that needs a process of its own has a line in
//! Cargo.toml instead.

#![cfg(not(loom))]

mod watch_dog;

#[path = "broadcast_parity.rs"]
mod broadcast_parity;
#[path = "budget.rs"]
mod budget;
#[path = "drop_panics.rs"]
mod drop_panics;
#[path = "mpmc.rs"]
mod mpmc;
#[path = "mpmc_parity.rs"]
mod mpmc_parity;
#[path = "mpmc_streams.rs"]
mod mpmc_streams;
#[path = "mpsc.rs"]
mod mpsc;
#[path = "mpsc_order.rs"]
mod mpsc_order;
#[path = "mpsc_panics.rs"]
mod mpsc_panics;
#[path = "mpsc_parity.rs"]
mod mpsc_parity;
#[path = "mpsc_sink.rs"]
mod mpsc_sink;
#[path = "oneshot.rs"]
mod oneshot;
#[path = "oneshot_parity.rs"]
mod oneshot_parity;
#[path = "oneshot_slot.rs"]
mod oneshot_slot;
#[path = "select.rs"]
mod select;
#[path = "select_macro.rs"]
mod select_macro;
#[path = "watch.rs"]
mod watch;
#[path = "watch_parity.rs"]
mod watch_parity;
