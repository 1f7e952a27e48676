//! An event as a sentence without its subject.

use std::borrow::Cow;

use blitz_io_observe::{Kind, SUBSTITUTE};

use super::implied::is_own_wake;
use super::{ABOUT_TO, SPAWNED, Thing, USE, Writer};
use crate::snapshot::Waiter;
use crate::trace::recording::{Abort, Event, For, Target, What};

impl Writer<'_> {
    /// Returns the sentence about a wait, or an operation that has not begun, whose future was dropped.
    pub(super) fn dropped(&self, event: &Event, was_at_point: bool) -> Option<String> {
        let What::WaitEnd(wait) = event.what else {
            return None;
        };
        // The record of a stream stays when a future that reads is dropped, and ends with the stream.
        if self.part_of_files(wait).is_some()
            || self.is_of_stream(wait)
            || self.is_within_scope(wait)
        {
            return None;
        }
        let place = self.at(wait.location);
        let operation = match wait.target {
            Target::Object(object) if was_at_point => Some(self.begun(wait.kind, object)),
            _ => None,
        };
        let operation = operation.filter(|operation| !operation.starts_with(USE));
        let operation = operation.map_or_else(
            || format!("waiting for {}", self.target(wait)),
            |operation| gerund(&operation),
        );
        Some(format!(
            "gives up {operation}{place}: the future is dropped"
        ))
    }

    /// Returns the event in words; `None` if other events say the same, and for locks of threads: no task waits for
    /// these. `step`: the task of the step. `polled`: the same, if its poll has ended. `used`: the object that the task has begun
    /// to use last.
    pub(super) fn of(
        &self,
        event: &Event,
        (step, polled): (Option<Waiter>, Option<Waiter>),
        used: Option<usize>,
    ) -> Option<String> {
        if self.is_within_files(event, polled) {
            return None;
        }
        let text = match event.what {
            What::Acquired { object, .. } | What::Released { object }
                if self.is_of_threads(object) =>
            {
                return None;
            }
            What::Spawn {
                parent, location, ..
            } => {
                if self.is_hidden(location) {
                    // By the simulation: as the run has begun, or a host.
                    return self.task(parent).map(|_| "begins".to_owned());
                }
                format!("{SPAWNED}{}", self.actor(parent, step))
            }
            What::Aborted { by, why, location } => {
                let why = match why {
                    Some(Abort::SetDropped) => ", which drops its JoinSet",
                    Some(Abort::SetShutDown) => ", which shuts its JoinSet down",
                    Some(Abort::ScopeEnded) => ", as its scope has ended",
                    Some(Abort::ScopeDropped) => ", as its scope was dropped",
                    // It is a child that has panicked, and ends so.
                    Some(Abort::ScopeFailed) if by == event.waiter => return None,
                    Some(Abort::ScopeFailed) => ", as its scope has failed",
                    None => "",
                };
                format!(
                    "is aborted by {}{why}{}",
                    self.actor(by, step),
                    self.at(location)
                )
            }
            What::Noted {
                kind,
                number,
                location,
            } => {
                let text = self.with_numbers(self.known.notes.get(&number)?);
                let place = self.at(location);
                match used.filter(|_| kind != 0) {
                    Some(object) => format!("{}{place}", text.replace("{}", &self.object(object))),
                    None => format!("{text}{place}"),
                }
            }
            What::Wait(wait) | What::WaitEnd(wait) if self.is_within_scope(wait) => return None,
            What::Wait(wait) => {
                let target = match self.side_of_socket(wait) {
                    Some(side) => format!("until its socket is {side}"),
                    None => format!("for {}", self.target(wait)),
                };
                format!("waits {target}{}", self.at(wait.location))
            }
            What::Block(wait) => format!(
                "blocks its thread for {}{}",
                self.target(wait),
                self.at(wait.location)
            ),
            // The packet, timer or task that wakes the task says as much.
            What::WaitEnd(wait) if self.is_of_stream(wait) => return None,
            What::WaitEnd(wait) => format!("waits no more for {}", self.target(wait)),
            What::Wake { .. } if is_own_wake(event) => "yields".to_owned(),
            What::Yields { location } => format!("yields{}", self.at(location)),
            What::Wake { by } => format!("is woken by {}", self.ender(by, step)),
            What::Acquired {
                kind,
                object,
                location,
            } => {
                let object = self.named(self.recording.kind(kind).1, object);
                format!("takes {object}{}", self.at(location))
            }
            What::Released { object } => format!("releases {}", self.object(object)),
            What::Permits {
                object,
                count,
                location,
            } => format!(
                "takes {} of {}{}",
                permits(count),
                self.object(object),
                self.at(location)
            ),
            What::PermitsBack { object, count } => {
                format!("gives {} back to {}", permits(count), self.object(object))
            }
            What::Operates { kind, object } => format!("{ABOUT_TO}{}", self.begun(kind, object)),
            What::Request { name, .. } => {
                format!("begins the request \"{}\"", self.recording.name(name))
            }
            What::RequestEnd { .. } => "ends a request".to_owned(),
            What::Sent(_) => "sends a message to another process".to_owned(),
            What::Received(_) => "receives a message of another process".to_owned(),
            What::Poll { .. }
            | What::PollEnd
            | What::Enter { .. }
            | What::Leave { .. }
            | What::JobQueued { .. }
            | What::JobBegins { .. }
            | What::JobEnds { .. }
            | What::Peer { .. }
            | What::Delay { .. }
            | What::Processor { .. }
            | What::WaitDropped
            | What::TaskEnd
            // The operation that the task is about to begin says as much.
            | What::PermitsForgotten { .. }
            | What::PermitsAdded { .. }
            | What::Reason { .. } => {
                return None;
            }
        };
        Some(text)
    }

    /// Returns `true` if a wait is a part of a scope that the program does not know.
    pub(super) fn is_within_scope(&self, wait: For) -> bool {
        self.recording.kind(wait.kind).0 == Some(Kind::ScopeFailure)
    }

    /// Returns a sentence in which objects that have only an origin have their numbers in these events: see [`SUBSTITUTE`].
    pub(super) fn with_numbers<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut parts = text.splitn(3, SUBSTITUTE);
        let (Some(before), Some(number), Some(after)) = (parts.next(), parts.next(), parts.next())
        else {
            return text.into();
        };
        match number.parse() {
            Ok(0) => format!("{before}{after}").into(),
            Ok(number) => {
                let number = self.number(Thing::Made(number));
                format!("{before} #{number}{after}").into()
            }
            Err(_) => text.into(),
        }
    }
}

/// Returns an operation that begins with its verb, such as `lock Mutex #1`, as a noun.
pub(super) fn gerund(operation: &str) -> String {
    let (verb, object) = operation.split_once(' ').unwrap_or((operation, ""));
    let verb = verb.strip_suffix('e').unwrap_or(verb);
    format!("{verb}ing {object}")
}

/// An event has at most the greatest number.
pub(super) fn permits(count: u8) -> String {
    match count {
        1 => "1 permit".to_owned(),
        u8::MAX => format!("{} or more permits", u8::MAX),
        _ => format!("{count} permits"),
    }
}
