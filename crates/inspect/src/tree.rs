//! The waits that begin at one thread or task, as a tree.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::graph::Graph;
use crate::names::{HELD, of_target, of_time, of_waiter, role_of_reader, short, with_role};
use crate::objects::holder_alone;
use crate::snapshot::{Snapshot, Waiter};

/// Writes the chain of waits of a thread or task: what it waits for, which threads or tasks have that,
/// and what these wait for.
///
/// # Examples
///
/// ```
/// use blitz_io_inspect::{Snapshot, Waiter, tree};
///
/// assert_eq!(tree(&Snapshot::default(), Waiter::Task(7)), "task 7");
/// ```
#[must_use]
pub fn tree(snapshot: &Snapshot, waiter: Waiter) -> String {
    let mut tree = Tree {
        snapshot,
        text: of_waiter(snapshot, waiter),
        seen: BTreeSet::from([waiter]),
    };
    if let Some(task) = waiter.task().and_then(|id| snapshot.task(id)) {
        _ = write!(tree.text, " spawned at {}", short(&task.location));
    }
    tree.waits(waiter, 0);
    tree.text
}

struct Tree<'a> {
    snapshot: &'a Snapshot,
    text: String,
    seen: BTreeSet<Waiter>,
}

impl Tree<'_> {
    fn line(&mut self, depth: usize, line: &str) {
        _ = write!(self.text, "\n{:1$}└╼ {line}", "", depth * 3);
    }

    fn waits(&mut self, waiter: Waiter, depth: usize) {
        let snapshot = self.snapshot;
        for wait in snapshot.waits.iter().filter(|wait| wait.waiter == waiter) {
            let time = of_time(wait);
            let target = of_target(snapshot, wait);
            let mut line = format!("waits {time} for {target}");
            if !wait.location.is_empty() {
                _ = write!(line, " at {}", short(&wait.location));
            }
            self.line(depth, &line);
            if let Some(task) = wait.task {
                self.waiter("which is", Waiter::Task(task), depth + 1);
            }
            if let Some(end) = snapshot.end(wait) {
                for peer in Graph::peers(wait, end).0 {
                    let process = Waiter::Process(peer.pid);
                    let user = snapshot.user(end, peer).unwrap_or(process);
                    self.waiter("ended by", user, depth + 1);
                }
                continue;
            }
            let Some(object) = &wait.object else { continue };
            let roles = [
                (HELD, holder_alone(object)),
                ("sent to last by", object.sender),
                ("received from last by", object.receiver),
            ];
            let readers = object
                .readers
                .iter()
                .map(|&reader| (role_of_reader(wait), Some(reader)));
            for (role, waiter) in roles.into_iter().chain(readers) {
                if let Some(waiter) = waiter.filter(|&waiter| waiter != wait.waiter) {
                    self.waiter(role, waiter, depth + 1);
                }
            }
        }
    }

    fn waiter(&mut self, role: &str, waiter: Waiter, depth: usize) {
        let name = of_waiter(self.snapshot, waiter);
        let is_new = self.seen.insert(waiter);
        self.line(
            depth,
            &format!(
                "{}{}",
                with_role(role, &name),
                if is_new { "" } else { ", see above" }
            ),
        );
        if is_new {
            self.waits(waiter, depth + 1);
        }
    }
}
