//! Decides if a wait lasts, given a set of waiters none of which may proceed: `Stuck`.

use std::collections::BTreeSet;

use crate::families::Loose;
use crate::graph::{Graph, has_no_member, is_beside_readers, is_for_guard};
use crate::snapshot::{Spawned, Wait, Waiter};

/// A set of waiters, and the tasks of a snapshot that are not in it.
pub(crate) struct Stuck<'s, 'a> {
    pub(crate) all: &'s BTreeSet<Waiter>,
    others: Vec<&'a Spawned>,
    loose: Loose,
}

impl<'s, 'a> Stuck<'s, 'a> {
    pub(crate) fn new(graph: &Graph<'a>, all: &'s BTreeSet<Waiter>) -> Self {
        Self {
            all,
            others: graph.makers.others(all),
            loose: graph.families.loose(all),
        }
    }
}

/// Returns `true` if only waiters of this set can end a wait.
pub(crate) fn wait_stays(
    graph: &Graph<'_>,
    wait: &Wait,
    stuck: &Stuck<'_, '_>,
    certain: bool,
) -> bool {
    let all = stuck.all;
    if has_no_member(wait) {
        return true;
    }
    let enders = graph.enders(wait);
    if enders.waiters.is_empty() && !certain {
        // See `makers.rs`.
        return graph.maker_of(wait).is_some_and(|maker| {
            all.contains(&maker.maker)
                && graph.makers.has_sent_only_to(maker, all)
                && !graph.makers.may_have(maker, &stuck.others)
        });
    }
    if enders.waiters.is_empty() || (certain && !enders.is_certain) {
        return false;
    }
    // A reader that waits beside readers waits behind a writer, which might give up.
    if is_beside_readers(wait) && !graph.is_handed(wait) && !writers_stay(graph, wait, all) {
        return false;
    }
    let has_guard = is_for_guard(wait);
    let stays = |ender: &Waiter| {
        // A child that waits for a lock of its own has probably given the guard away.
        let is_sure = certain || *ender == wait.waiter;
        let keeps = |&ender: &Waiter| graph.families.keeps_guard(ender, &stuck.loose, is_sure);
        all.contains(ender) && (!has_guard || keeps(ender))
    };
    let mut waiters = enders.waiters.iter();
    if enders.needs_all {
        waiters.all(stays)
    } else {
        waiters.any(stays)
    }
}

/// Returns `true` if writers wait for the same lock, and none of them may proceed.
fn writers_stay(graph: &Graph<'_>, read: &Wait, all: &BTreeSet<Waiter>) -> bool {
    if graph.snapshot.left_out.is_some() {
        return false;
    }
    let mut writers = graph.writers(read).peekable();
    writers.peek().is_some() && writers.all(|wait| !wait.is_timed && all.contains(&wait.waiter))
}
