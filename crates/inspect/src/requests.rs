//! The tasks that probably answer requests: who sends the value of a `oneshot` for which a task waits.
//!
//! No record says which value has the sender. Two ways to give it away can be seen:
//!
//! 1. A client sends a request, with the sender in it, to an actor, and waits for the answer. A channel knows its last sender. If
//!    that waits for a `oneshot`, the last receiver of the channel probably has its request, or will receive it; and so it is for
//!    all that wait at the same line.
//! 2. Else the client has made the `oneshot` itself, and has spawned one task since, which probably has the sender.

use blitz_io_observe::Kind;
use blitz_io_observe::collections::HashMap;

use crate::graph::Graph;
use crate::snapshot::{Maker, Snapshot, Wait, Waiter};

pub(crate) struct Requests<'a> {
    /// The receivers of requests, by the line at which their clients wait; `None` if several receive requests of one line.
    actors: HashMap<&'a str, Option<Waiter>>,
    /// The maker of the `oneshot` and the one task that it has spawned since, by the wait.
    spawned: HashMap<u64, (Waiter, Waiter)>,
}

impl<'a> Requests<'a> {
    pub(crate) fn new(graph: &Graph<'a>) -> Self {
        let mut actors: HashMap<&str, Option<Waiter>> = HashMap::default();
        for channel in graph.snapshot.objects.iter().flatten() {
            let ends = channel.object.sender.zip(channel.object.receiver);
            let Some((client, actor)) = ends.filter(|(client, actor)| client != actor) else {
                continue;
            };
            let waits = graph.waits(client).iter();
            for wait in waits.filter(|wait| is_for_answer(wait)) {
                let known = actors.entry(&wait.location).or_insert(Some(actor));
                *known = known.filter(|&known| known == actor);
            }
        }
        let children = children(graph.snapshot);
        let makers = graph.snapshot.makers.iter();
        let spawned =
            makers.filter_map(|of| Some((of.wait, (of.maker, the_child(&children, of)?))));
        Self {
            actors,
            spawned: spawned.collect(),
        }
    }

    /// Returns the task or thread that probably answers, if the wait is for an answer.
    pub(crate) fn actor(&self, wait: &Wait) -> Option<Waiter> {
        let actor = match self.actors.get(wait.location.as_str()) {
            Some(actor) => *actor,
            None => {
                let known = self.spawned.get(&wait.id);
                let own = known.filter(|(maker, _)| *maker == wait.waiter);
                own.map(|&(_, child)| child)
            }
        };
        actor.filter(|&actor| is_for_answer(wait) && actor != wait.waiter)
    }
}

/// The tasks that a task or thread has spawned, with the numbers of the last objects that were made before.
type Children = HashMap<Waiter, Vec<(u64, Waiter)>>;

fn children(snapshot: &Snapshot) -> Children {
    let mut children = Children::default();
    for child in &snapshot.spawned {
        if let Some(by) = child.by {
            let of_spawner = children.entry(by).or_default();
            of_spawner.push((child.number, Waiter::Task(child.task)));
        }
    }
    children
}

/// Returns the task that the maker of an object has spawned since, if there is one only.
fn the_child(children: &Children, maker: &Maker) -> Option<Waiter> {
    let all = children.get(&maker.maker)?.iter();
    let mut later = all.filter(|(number, _)| *number >= maker.number);
    let (_, first) = later.next()?;
    later.next().is_none().then_some(*first)
}

fn is_for_answer(wait: &Wait) -> bool {
    wait.kind == Kind::OneshotReceive.name() && !wait.is_timed && !wait.location.is_empty()
}
