//! A request follows its messages into other processes.
//!
//! A wait for a message of `blitz_io::ipc` is ended by an answer. Its sender works for the request if it, or the task
//! that has spawned it, had received a message of the request. Then the wait has three parts: until the message is
//! received, what the other process does, and the way back.

use blitz_io_observe::Kind;

use super::cause::{Category, Cause};
use super::follow_jobs::add_if_any;
use super::split::{DEEPEST, Followed, Piece, Splitter};
use crate::snapshot::Waiter;

/// A task may receive messages of this many others before it answers.
const QUESTIONS: usize = 64;

/// The work for a request after one of its messages: who did it, and from when on, in the order of time.
struct Work(Vec<(Waiter, u64)>);

impl Splitter<'_> {
    /// Adds the pieces of a wait for a message of another process. Returns `false`, and adds nothing, if it is none.
    pub(super) fn follow_message(&self, wait: &Followed, pieces: &mut Vec<Piece>) -> bool {
        let Some(of) = wait.wait else {
            return false;
        };
        let messages = &self.lives.messages;
        if self.recording.kind(of.kind).0 != Some(Kind::IpcReceive) {
            return false;
        }
        let Some(answer) = messages.next(wait.waiter, wait.to) else {
            return false;
        };
        let mut cause = Cause::of_wait(self.recording, of);
        if cause.location == 0 {
            cause.location = self.cause_here(cause.category, wait.waiter).location;
        }
        let Some((sent, by)) = messages.sent(answer) else {
            let peer = messages.peer(wait.waiter, answer.segment).unwrap_or(0);
            let process = Cause::of_process(peer, cause.location);
            let is_here = peer == self.recording.process_of(wait.waiter);
            pieces.push(wait.piece(
                wait.from,
                wait.to,
                if is_here { cause } else { process },
                None,
            ));
            return true;
        };
        let Some(Work(steps)) = self.work_for(wait.waiter, by, sent) else {
            pieces.push(wait.piece(wait.from, wait.to, cause, Some(by)));
            return true;
        };
        let first = steps.first().map_or((by, sent), |step| *step);
        add_if_any(pieces, wait.piece(wait.from, first.1, cause, Some(first.0)));
        for (place, &(who, from)) in steps.iter().enumerate() {
            let to = steps.get(place + 1).map_or(sent, |next| next.1);
            let (from, to) = (from.max(wait.from), to.min(wait.to));
            if from < to {
                self.add(who, from, to, wait.depth + 1, pieces);
            }
        }
        let ready = self.cause_here(Category::Runnable, wait.waiter);
        let back = sent.max(first.1);
        add_if_any(pieces, wait.piece(back, wait.to, ready, None));
        true
    }

    /// Returns the work of `by`, or of the tasks that have spawned it, since a message of the task `of`.
    fn work_for(&self, of: Waiter, by: Waiter, until: u64) -> Option<Work> {
        let mut steps = vec![];
        let (mut who, mut until) = (by, until);
        for _ in 0..DEEPEST {
            if let Some(received) = self.question(of, who, until) {
                steps.push((who, received));
                steps.reverse();
                return Some(Work(steps));
            }
            let spawn = self.lives.lives.get(&who)?.spawn?;
            if spawn.at < self.since {
                return None;
            }
            steps.push((who, spawn.at));
            (who, until) = (spawn.parent, spawn.at);
        }
        None
    }

    /// Returns when the thread or task received its last message of the request.
    fn question(&self, of: Waiter, who: Waiter, until: u64) -> Option<u64> {
        let messages = &self.lives.messages;
        let own = |by: Waiter| by == of || self.is_child(by, of) || self.is_child(of, by);
        messages
            .until(who, until)
            .take_while(|(at, _)| *at >= self.since)
            .take(QUESTIONS)
            .find(|&(_, message)| {
                let sent = messages.sent(message);
                sent.is_some_and(|(at, by)| at >= self.since && own(by))
            })
            .map(|(at, _)| at)
    }
}
