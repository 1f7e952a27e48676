//! The seam through which the blitz-io crates are watched. Programs use
//! [blitz-io](https://docs.rs/blitz-io).
//!
//! This crate has no stable interface: any release may change anything. The crates that depend on
//! it name its exact version.
//!
//! Each primitive, each future that waits and each blocking path tells this crate what happens to it.
//! Two back ends listen: `records`, with the feature `inspect`, and `resource`, with the feature `tracing`.
//! Without a feature its types are empty and their methods do nothing, so that a primitive needs no `cfg`
//! and keeps its size.

// Its pages are for readers of its source.
#![allow(rustdoc::private_intra_doc_links)]

#[cfg(all(loom, not(feature = "loom")))]
compile_error!("`--cfg loom` needs the feature `loom` too: see .ci/loom");

mod kind;
mod macros;
mod observed;
mod records;
mod resource;
mod semantics;
mod thread_id;

pub use kind::Kind;
pub use observed::{Observed, Waiting};
pub use records::*;
pub use resource::{IS_TRACED, Late, Operation, Resource, Sort};
pub use semantics::{EndedBy, Hands, Mode, Semantics};
pub use thread_id::ThreadId;
