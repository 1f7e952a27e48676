//! The seam through which the blitz-io crates are watched. Programs use
//! [blitz-io](https://docs.rs/blitz-io).
//!
//! This crate has no stable interface: any release may change anything. The crates that depend on
//! it name its exact version.
//!
//! Each primitive, each future that waits and each blocking path tells this crate what happens to it.
//! Two back ends listen: `records`, with the feature `inspect`, and `resource`, with the feature `tracing`.
//! A third one, with the feature `sim`, [decides](decisions) at some of the points.
//! Without a feature its types are empty and their methods do nothing, so that a primitive needs no `cfg`
//! and keeps its size.
//!
//! A primitive has one field, [`Observed`]; a future that waits for it one, [`Waiting`]; and a path that blocks a
//! thread one guard, [`Blocking`]. [`Kind`] says which primitive it is, and by its [`Semantics`] who ends the
//! wait. A new primitive is one entry there.
//!
//! # Points
//!
//! | point | call | back end |
//! |---|---|---|
//! | a primitive is made | [`Observed::with_span`], [`Observed::here`] | records: its location; spans: a resource |
//! | the same, and its origin matters | [`Object::made_here`], [`Origin`] | records: the task or thread that made it |
//! | it is named | [`Named`] | records |
//! | it is acquired, released, handed over | [`Object::acquired`], [`Object::released`], [`Object::handed_over`] and their kin | records: its holders |
//! | its permits are forgotten, added, taken | [`Object::forgot_permits`], [`Object::added_permits`], [`Object::took_permits`] | records: `blitz lint` |
//! | a value is sent | [`Object::sent`] | records: `blitz lint` |
//! | its permits change | [`Resource::taken`], [`Resource::given_back`] | spans: its state |
//! | an operation begins | [`Observed::waiting`], [`Waiting::new`] | spans |
//! | it is polled | [`Waiting::poll`] | spans |
//! | it waits as a future | [`Waiting::begin`] | records |
//! | it ends, or is cancelled | [`Waiting::end`], or the drop of [`Waiting`] | records, spans |
//! | a thread may block | [`Observed::block`], [`Blocking`] | records |
//! | it sleeps, and is woken | [`sleeping`], and the drop of [`Sleeping`] | records |
//! | a future is driven by a thread | [`Root::blocking`] | records |
//! | a closure goes to a thread for blocking work | [`About`] | records |
//! | a task is spawned, or woken | [`trace::spawned`], [`trace::woken`] | records: events for `blitz trace` |
//! | a runtime calls wakers | [`trace::Waking`] | records: the source of the wake-ups |
//! | a request begins, and ends | [`trace::request`] | records: events for `blitz trace` |
//! | a job of a pool is queued, run and awaited | [`trace::RunsJob`] and others | records: events for `blitz trace` |
//! | a message of another process | [`trace::sent`], [`trace::received`] | records: events for `blitz trace` |
//! | the next task, an operation, a random number, the next timer | [`decisions`] | a simulation, which decides |
//! | a worker looks at the clock, or blocks | [`cache_time`], [`forget_time`] | records: the time of waits that begin |

// Its pages are for readers of its source.
#![allow(rustdoc::private_intra_doc_links)]

#[cfg(all(loom, not(feature = "loom")))]
compile_error!("`--cfg loom` needs the feature `loom` too: see .ci/loom");

mod called_at;
pub mod decisions;
mod kind;
mod macros;
mod observed;
mod records;
mod resource;
mod thread_id;

pub use called_at::CalledAt;
pub use kind::{EndedBy, Hands, Kind, Mode, SOCKET, Semantics};
pub use observed::{Observed, Waiting};
pub use records::*;
pub use resource::{IS_TRACED, Late, Operation, Resource, Sort, TaskSpan, WakerEvent};
pub use thread_id::ThreadId;
