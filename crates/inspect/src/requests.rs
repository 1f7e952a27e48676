//! The tasks that probably answer requests: who sends the value of a `oneshot` for which a task waits.
//!
//! A client sends a request, with the sender of a `oneshot` in it, to an actor, and waits for the answer. No record says which value
//! has the sender. But a channel knows its last sender. If that waits for a `oneshot`, the last receiver of the channel probably
//! has its request, or will receive it; and so it is for all that wait at the same line.

use blitz_io_observe::Kind;
use blitz_io_observe::collections::HashMap;

use crate::graph::Graph;
use crate::snapshot::{Wait, Waiter};

/// The receivers of requests, by the line at which their clients wait; `None` if several receive requests of one line.
pub(crate) struct Requests<'a>(HashMap<&'a str, Option<Waiter>>);

impl<'a> Requests<'a> {
    pub(crate) fn new(graph: &Graph<'a>) -> Self {
        let mut found: HashMap<&str, Option<Waiter>> = HashMap::default();
        for channel in graph.snapshot.objects.iter().flatten() {
            let ends = channel.object.sender.zip(channel.object.receiver);
            let Some((client, actor)) = ends.filter(|(client, actor)| client != actor) else {
                continue;
            };
            let waits = graph.waits(client).iter();
            for wait in waits.filter(|wait| is_for_answer(wait)) {
                let known = found.entry(&wait.location).or_insert(Some(actor));
                *known = known.filter(|&known| known == actor);
            }
        }
        Self(found)
    }

    /// Returns the task or thread that probably answers, if the wait is for an answer.
    pub(crate) fn actor(&self, wait: &Wait) -> Option<Waiter> {
        let actor = self.0.get(wait.location.as_str()).copied().flatten();
        actor.filter(|&actor| is_for_answer(wait) && actor != wait.waiter)
    }
}

fn is_for_answer(wait: &Wait) -> bool {
    wait.kind == Kind::OneshotReceive.name() && !wait.is_timed && !wait.location.is_empty()
}
