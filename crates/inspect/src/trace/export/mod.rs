//! Recordings in the formats of other programs.
//!
//! - `timeline.rs` has the contents of a time line: lanes, spans and arrows. `chrome.rs` and `perfetto.rs` write them.
//! - `stacks.rs` adds up what requests waited for, as stacks. `folded.rs` and `pprof.rs` write them.
//! - `otlp.rs` writes requests as spans of OpenTelemetry.
//! - `proto.rs` writes messages of Protocol Buffers.

mod chrome;
mod folded;
mod otlp;
mod perfetto;
mod pprof;
mod proto;
mod stacks;
mod timeline;

pub use chrome::chrome;
pub use folded::folded;
pub use otlp::otlp;
pub use perfetto::perfetto;
pub use pprof::pprof;
