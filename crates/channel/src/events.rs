//! Sentences about the operations of a task on channels: for the report of a simulation. Without the feature `sim`, these functions are
//! empty.

use blitz_io_observe::{Caller, Kind, Object, Origin, counted};

/// A value has been sent; so many are then in the channel.
#[inline(always)]
pub(crate) fn sent(object: &Object, kind: Kind, held: impl FnOnce() -> usize) {
    object.did(kind, || format!("sends to {{}} ({})", now(held())));
}

/// A value has been sent that goes to so many receivers.
#[inline(always)]
pub(crate) fn sent_to(object: &Object, kind: Kind, receivers: impl FnOnce() -> usize) {
    object.did(kind, || {
        format!("sends to {{}} ({})", counted(receivers(), "receiver"))
    });
}

/// The value of a channel for one value has been sent at this location, or the receiver was closed.
#[inline(always)]
pub(crate) fn sent_one(origin: Origin, at: Caller, is_sent: bool) {
    origin.did(Kind::OneshotReceive, at, || {
        let text = if is_sent {
            "sends to {}"
        } else {
            "finds {} closed"
        };
        text.to_owned()
    });
}

/// So many values have been received; so many are then left for the receiver.
#[inline(always)]
pub(crate) fn received(object: &Object, kind: Kind, values: usize, left: impl FnOnce() -> usize) {
    object.did(kind, || {
        let left = now(left());
        match values {
            1 => format!("receives from {{}} ({left})"),
            _ => format!("receives {values} values from {{}} ({left})"),
        }
    });
}

/// The value that a channel keeps has been seen.
#[inline(always)]
pub(crate) fn seen(object: &Object, kind: Kind) {
    object.did(kind, || "receives from {}".to_owned());
}

/// There is room for so many values, which is kept for the task.
#[inline(always)]
pub(crate) fn reserved(object: &Object, kind: Kind, values: usize) {
    object.did(kind, || {
        format!("keeps room for {} in {{}}", counted(values, "value"))
    });
}

/// The receiver has been too slow for so many values.
#[inline(always)]
pub(crate) fn missed(object: &Object, kind: Kind, values: u64) {
    object.did(kind, || {
        let values = counted(values, "value");
        format!("has missed {values} of {{}}")
    });
}

/// The channel is in this state, so the operation has failed.
#[inline(always)]
pub(crate) fn refused(object: &Object, kind: Kind, state: &'static str) {
    object.did(kind, || format!("finds {{}} {state}"));
}

fn now(values: usize) -> String {
    match values {
        0 => "now empty".to_owned(),
        _ => format!("now {}", counted(values, "value")),
    }
}
