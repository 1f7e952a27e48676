//! The protocols of the records between threads, which the models check as they stand.

pub mod counted_map;
pub mod kind_list;
pub mod poll_slot;
pub mod request;
pub mod ring;
pub mod slot;
pub mod switch;
