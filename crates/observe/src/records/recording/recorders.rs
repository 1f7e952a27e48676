//! Which recorders are on. The first point that asks looks into the environment.

use super::switch::{Recorder, begin_to_ask, is_unknown, may_any_be_on};
use super::{lint, trace};

/// Returns `true` if any recorder is on.
#[inline]
pub(super) fn is_any_on() -> bool {
    may_any_be_on() && (lints() || traces())
}

/// Returns `true` if the recorder of `blitz lint` is on.
#[inline]
pub(super) fn lints() -> bool {
    is_on(Recorder::Lint)
}

/// Returns `true` if the recorder of `blitz trace` is on.
#[inline]
pub(super) fn traces() -> bool {
    is_on(Recorder::Trace)
}

#[inline]
fn is_on(recorder: Recorder) -> bool {
    if !recorder.may_be_on() {
        return false;
    }
    if is_unknown() {
        ask();
    }
    recorder.is_on()
}

#[cold]
#[inline(never)]
fn ask() {
    if begin_to_ask() {
        if lint::is_asked() {
            Recorder::Lint.start();
        }
        if trace::is_asked() {
            Recorder::Trace.start();
        }
    }
}
