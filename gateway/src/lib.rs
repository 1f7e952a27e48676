//! Carries routes, channels and queues of [`blitz_io::ipc`] between machines, over Zenoh.
//!
//! The program is `blitz-gateway`; this is its library. What it guarantees is described in
//! `book/src/guides/beyond-one-machine.md`.

mod access;
mod attempts;
pub mod config;
mod content;
pub mod contradiction;
pub mod engine;
pub mod error;
mod export;
pub mod gateway;
mod import;
pub mod importers;
pub mod inbox;
pub mod keys;
mod parts;
mod queue;
mod record;
pub mod runs;
pub mod sequence;
mod shared;
pub mod silence;
pub mod window;
pub mod wire;
