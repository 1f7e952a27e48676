//! The models of this crate, in one program.

#![cfg(loom)]

mod model;

mod biased_lock;
mod fences;
mod inspect_kind_list;
mod inspect_poll;
mod inspect_request;
mod inspect_slot;
mod lease;
mod mutex;
mod parker;
mod wait_queue;
