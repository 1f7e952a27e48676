//! The models of this crate, in one program.

#![cfg(loom)]

use blitz_io_models as model;

mod memory;
