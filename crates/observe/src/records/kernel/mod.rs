//! What the models check, as it stands: the records' protocols between threads.

pub mod counted_map;
pub mod kind_list;
pub mod poll_slot;
pub mod request;
pub mod ring;
pub mod slot;
pub mod switch;
