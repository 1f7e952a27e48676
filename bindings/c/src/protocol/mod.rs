//! Protocols on which the objects by value and the handles rest, each with models in `tests/loom`.
//!
//! Under the model checker the library is empty, and the models include these files.

pub mod biased_flag;
pub mod event_word;
pub mod latch_word;
pub mod once_word;
pub mod words;
