//! The steps for streams, which are woken without a value when there is one.

use std::ptr;

use blitz_io_core::{Wake, Wakes};

use super::super::woken::Call;
use super::State;

impl<T> State<T> {
    /// Returns the call to perform after a step: `wake` if the step has chosen a waiter, otherwise
    /// that of the streams, if the step left a value for them.
    pub(in crate::mpmc) fn call(&mut self, wake: Wake) -> Call {
        match wake {
            Wake::Nobody if !self.must_tell_streams() => Call::One(Wake::Nobody),
            Wake::Nobody if self.streams.has_several() => Call::Streams,
            Wake::Nobody => Call::One(self.streams.choose_first().unwrap_or(Wake::Nobody)),
            wake => Call::One(wake),
        }
    }

    /// Returns `true` if streams wait although there is something to receive.
    pub(in crate::mpmc) fn must_tell_streams(&self) -> bool {
        !self.streams.is_empty() && self.may_recv(ptr::null())
    }

    /// Returns `true` if a stream would come for the value of a sender that waits, in a channel
    /// without a buffer.
    pub(in crate::mpmc) fn may_reach_stream(&self) -> bool {
        self.capacity == 0 && !self.streams.is_empty()
    }

    /// Chooses streams, as many as can be woken at once, while there is something to
    /// receive.
    pub(in crate::mpmc) fn tell_streams(&mut self, wakes: &mut Wakes) {
        while !wakes.is_full() && self.must_tell_streams() {
            match self.streams.choose_first() {
                Some(wake) => wakes.push(wake),
                None => return,
            }
        }
    }
}
