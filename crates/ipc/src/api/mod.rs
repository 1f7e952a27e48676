//! The ends of segments and their parts: the files, the memory that they map, the doorbells
//! of tasks, and the traits of messages.

#[cfg(any(target_os = "linux", target_os = "android"))]
mod anonymous;
#[cfg(unix)]
mod awaited;
mod barrier;
mod builder;
#[cfg(unix)]
mod doorbell;
mod drain;
mod endpoint;
mod error;
mod event;
mod fingerprint;
mod inspect;
mod kind;
mod kinds;
mod loan;
mod mark;
mod message;
mod plain;
#[cfg(any(feature = "bytemuck", feature = "zerocopy"))]
mod plain_of_others;
mod primitive;
mod receiver;
mod registered;
mod ring_receiver;
mod ring_sender;
mod segment;
mod semaphore;
mod send_with;
mod sender;
mod settings;
#[cfg(all(feature = "async", unix))]
mod simulated;
mod sys;
mod trust;
mod wait_policy;

pub use crate::kernel::ring::MessageState;
#[cfg(any(target_os = "linux", target_os = "android"))]
pub use anonymous::Anonymous;
pub use barrier::{Barrier, BarrierWaitResult};
#[cfg(feature = "derive")]
pub use blitz_io_macros::PlainData;
pub use builder::Builder;
#[cfg(unix)]
pub use doorbell::Doorbell;
pub use error::{Error, IoError, NotifyError, RecvError, SendError, WaitError};
pub use event::{Event, Listener, Notification, Notifier};
pub use fingerprint::Fingerprint;
pub use inspect::{
    Cleaned, Participant, SegmentInfo, clean, clean_in, clean_where, is_supported, left_out, list,
    list_in,
};
pub use kind::{Kind, WhenFull};
pub use kinds::{Channel, Queue, Route};
pub use loan::Loan;
pub use message::Message;
pub use plain::PlainData;
#[cfg(feature = "bytemuck")]
pub use plain_of_others::Pod;
#[cfg(feature = "zerocopy")]
pub use plain_of_others::Zerocopy;
pub use primitive::PrimitiveBuilder;
pub use receiver::Receiver;
pub use semaphore::{Permit, Semaphore};
pub use send_with::{SendOptions, SendWith};
pub use sender::Sender;
