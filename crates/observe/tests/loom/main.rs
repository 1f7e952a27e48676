//! The models of this crate, in one program.

#![cfg(loom)]

use blitz_io_models as model;

mod counted_map;
mod kind_list;
mod poll;
mod request;
mod ring;
mod slot;
mod switch;
