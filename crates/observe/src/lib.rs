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
//! | a program's own primitive is acquired, released, waited for | [`OwnPrimitive`] | records |
//! | a barrier has waiters | [`Object::set_parties`] | records: how many it is for |
//! | a value is sent | [`Object::sent`] | records: `blitz lint` |
//! | its permits change | [`Resource::taken`], [`Resource::given_back`] | spans: its state |
//! | an operation begins | [`Observed::waiting`], [`Waiting::new`] | spans |
//! | it is polled | [`Waiting::poll`] | spans |
//! | another task runs at its point, before it | [`Waiting::at_point`] | records, in a simulation |
//! | it waits as a future | [`Waiting::begin`] | records |
//! | it ends, or is cancelled | [`Waiting::end`], or the drop of [`Waiting`] | records, spans |
//! | a thread may block | [`Observed::block`], [`Blocking`] | records |
//! | it sleeps, and is woken | [`sleeping`], and the drop of [`Sleeping`] | records |
//! | a future is driven by a thread | [`Root::blocking`] | records |
//! | a closure goes to a thread for blocking work | [`About`] | records |
//! | a scope is polled, has a child, polls it | [`Members`], [`OfScope`], [`ChildRecord`] | records |
//! | a task is spawned, or woken, or yields, or ends | [`trace::spawned`], [`trace::woken`], [`trace::yielded`], [`trace::ended`] | records: events for `blitz trace` |
//! | a runtime calls wakers | [`trace::Waking`] | records: the source of the wake-ups |
//! | a request begins, and ends | [`trace::request`] | records: events for `blitz trace` |
//! | a job of a pool is queued, run and awaited | [`trace::RunsJob`] and others | records: events for `blitz trace` |
//! | a message of another process | [`trace::sent`], [`trace::received`] | records: events for `blitz trace` |
//! | the next task, an operation, a random number, the next timer | [`decisions`] | a simulation, which decides |
//! | a worker looks at the clock, or blocks | [`cache_time`], [`cache_time_after_sleep`], [`forget_time`] | records: the time of waits that begin |
//!
//! # Conditions elsewhere
//!
//! Outside of this crate, these lines have a condition on `inspect` or `tracing`, and no others. (`.ci/lint` compares.)
//!
//! | file | lines | because |
//! |---|---:|---|
//! | `crates/blitz-io/src/futex/mod.rs` | 1 | its functions leave records |
//! | `crates/blitz-io/src/lib.rs` | 2 | `inspect` is public |
//! | `crates/blitz-io/src/metrics.rs` | 1 | the figures of waits are exported |
//! | `crates/blitz-io/src/trace/mod.rs` | 3 | `Ended` and `Spans` are public |
//! | `crates/blitz-io/tests/metrics.rs` | 1 | tests of these figures |
//! | `crates/channel/src/mpsc/chan.rs` | 2 | a send that notes its sender has to be inlined by force |
//! | `crates/inspect/src/watchdog.rs` | 2 | its findings are events of `tracing`, too |
//! | `crates/ipc/src/api/registered.rs` | 1 | ends are registered for reports of other processes |
//! | `crates/ipc/src/kernel/ring/mod.rs` | 1 | the reader of a ring's participants |
//! | `crates/runtime/src/api/mod.rs` | 1 | the waker of a thread in `block_on` emits events |
//! | `crates/runtime/src/api/pinned.rs` | 2 | a future with a span or a record is pinned as the future is |
//! | `crates/runtime/src/api/pool/mod.rs` | 1 | `task::Builder` names blocking work |
//! | `crates/runtime/src/api/runtime/inspected.rs` | 1 | the page of the builder's methods names the feature |
//! | `crates/runtime/src/api/runtime/mod.rs` | 1 | a runtime is known to the inspector |
//! | `crates/runtime/src/api/task/join_set/mod.rs` | 2 | its `Builder`, whose names only these features show; Tokio has it with `tracing` |
//! | `crates/runtime/src/api/task/local_set/mod.rs` | 1 | the same, for local tasks |
//! | `crates/runtime/src/api/task/mod.rs` | 3 | the same, and the record of a task |
//! | `crates/runtime/src/api/trace.rs` | 1 | the spans of tasks |
//! | `crates/runtime/src/kernel/idle.rs` | 1 | a copy of the sleep states |
//! | `crates/runtime/src/kernel/sleepers.rs` | 1 | the lists for that copy |
//! | `crates/runtime/src/kernel/task/mod.rs` | 1 | the fields of a task's header that its record reads |

// Its pages are for readers of its source.
#![allow(rustdoc::private_intra_doc_links)]

#[cfg(all(loom, not(feature = "loom")))]
compile_error!("`--cfg loom` needs the feature `loom` too: see .ci/loom");
#[cfg(all(loom, any(feature = "inspect", feature = "sim", feature = "tracing")))]
compile_error!("models run without the features that observe");

mod called_at;
#[doc(hidden)]
pub mod collections;
mod counted;
pub mod decisions;
mod kind;
mod macros;
mod observed;
mod records;
mod resource;
mod thread_id;

pub use called_at::CalledAt;
#[doc(hidden)]
pub use counted::counted;
pub use kind::{EndedBy, Hands, Kind, Mode, SOCKET, SUBSTITUTE, Semantics};
pub use observed::{Observed, Waiting};
pub use records::*;
pub use resource::{IS_TRACED, Late, Operation, Resource, Sort, TaskSpan, WakerEvent};
pub use thread_id::ThreadId;
