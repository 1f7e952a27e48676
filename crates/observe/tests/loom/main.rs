//! The models of this crate, in one program.

#![cfg(loom)]

#[path = "../../../core/tests/loom/model/mod.rs"]
mod model;

mod counted_map;
mod kind_list;
mod poll;
mod request;
mod ring;
mod slot;
mod switch;
