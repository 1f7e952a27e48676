//! Carries routes, channels and queues of [`blitz_io::ipc`] between machines, over Zenoh.
//!
//! The program is `blitz-gateway`; this is its library. What it guarantees is described in
//! `docs/beyond-one-machine.md`.

pub mod config;
pub mod sequence;
pub mod wire;
