//! The tests of this crate that can share a process, in one program: it is linked once, not once
//! a file, for every system and sanitizer. A test that needs a process of its own has a line in
//! Cargo.toml instead.

mod broadcast_parity;
mod budget;
mod drop_panics;
mod mpmc;
mod mpmc_parity;
mod mpmc_streams;
mod mpsc;
mod mpsc_order;
mod mpsc_panics;
mod mpsc_parity;
mod mpsc_sink;
mod oneshot;
mod oneshot_parity;
mod oneshot_slot;
mod select;
mod select_macro;
mod watch;
mod watch_parity;
