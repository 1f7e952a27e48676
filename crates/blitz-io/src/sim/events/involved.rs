//! The tasks whose events matter most: those that lived when a fault began, that panicked, or that used the same objects.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use blitz_io_inspect::Snapshot;
use blitz_io_inspect::trace::Words;

use super::excerpt::ACCEPTS;
use super::line::Line;

/// The begins of the sentences about a wait for the next connection.
const WAITS: [&str; 2] = ["waits until its socket is readable", "is woken by "];

/// The number of objects, those that the task which has failed has used last, whose users come first.
const OBJECTS: usize = 3;

/// The number of users of each of these objects that come first.
const SHARERS: usize = 4;

/// The number of ended tasks that are alike and that come before all others, and of ended children that are alike and are shown.
pub(super) const ALIKE: usize = 2;

/// Returns the host and the line that has spawned a task of a host which has ended. A server has such a task for each connection, and
/// each life of a host has the same ones again.
pub(in crate::sim) fn group<'a>(
    task: u64,
    words: &'a Words,
    snapshot: &Snapshot,
    host_of: &dyn Fn(u64) -> u32,
) -> Option<(u32, &'a str)> {
    let host = host_of(task);
    let has_ended = snapshot.task(task).is_none();
    let place = words.spawned_at.get(&task)?;
    (host != 0 && has_ended).then_some((host, place.as_str()))
}

/// Returns the tasks, of which those come last that are like several before them: in the same group.
pub(in crate::sim) fn alike_last<G: Ord>(
    tasks: Vec<u64>,
    group: impl Fn(u64) -> Option<G>,
) -> Vec<u64> {
    let mut counts: BTreeMap<G, usize> = BTreeMap::new();
    let (first, later): (Vec<u64>, Vec<u64>) = tasks.into_iter().partition(|&task| {
        group(task).is_none_or(|group| {
            let count = counts.entry(group).or_default();
            *count += 1;
            *count <= ALIKE
        })
    });
    [first, later].concat()
}

/// Returns the tasks that were alive on a host when a fault began that concerns it. Those that ran last before each fault are the
/// first, and the faults take turns, from the last one on.
pub(in crate::sim) fn at_faults(lines: &[Line], host_of: &dyn Fn(u64) -> u32) -> Vec<u64> {
    let mut alive: BTreeMap<u64, usize> = BTreeMap::new();
    let mut of_faults = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        match line.task {
            Some(task) if line.is_end => _ = alive.remove(&task),
            Some(task) => _ = alive.insert(task, at),
            None if line.fault.is_some() => {
                let own = alive
                    .iter()
                    .filter(|(task, _)| line.concerns(host_of(**task)));
                let mut own: Vec<(u64, usize)> = own.map(|(task, at)| (*task, *at)).collect();
                own.sort_unstable_by_key(|(_, at)| Reverse(*at));
                of_faults.push(own.into_iter().map(|(task, _)| task).collect());
            }
            None => {}
        }
    }
    of_faults.reverse();
    in_turns(&of_faults)
}

/// Returns the task, or its child, that has panicked first: a scope panics with the panic of its child. `of_tasks`: a task that
/// panics fails the run. So an earlier task with the same panic is a child of a parallel scope.
pub(in crate::sim) fn first_panic(
    lines: &[Line],
    task: u64,
    of_tasks: bool,
) -> (u64, Option<String>) {
    let panics = |line: &&Line| line.panic().is_some();
    let mut own = lines.iter().rev().filter(|line| line.task == Some(task));
    let Some(last) = own.find(panics) else {
        return (task, None);
    };
    let is_same =
        |line: &&Line| line.panic() == last.panic() && (of_tasks || line.task == Some(task));
    let first = lines.iter().find(is_same).unwrap_or(last);
    (first.task.unwrap_or(task), first.child.clone())
}

/// Returns `true` if a task has only accepted connections of late, for which it has other tasks.
pub(in crate::sim) fn only_accepts(lines: &[Line], task: u64) -> bool {
    let own = lines.iter().rev().filter(|line| line.task == Some(task));
    let mut does = own.filter(|line| !WAITS.iter().any(|begin| line.text.starts_with(begin)));
    does.next()
        .is_some_and(|last| last.text.starts_with(ACCEPTS))
}

/// Returns the tasks that have used the objects which this task has used last. The last object comes first, and of each object
/// the task that has used it last.
pub(in crate::sim) fn that_used_the_same(lines: &[Line], task: u64) -> Vec<u64> {
    let own = lines.iter().rev().filter(|line| line.task == Some(task));
    let mut objects: Vec<u64> = Vec::new();
    for object in own.filter_map(|line| line.object) {
        if objects.len() < OBJECTS && !objects.contains(&object) {
            objects.push(object);
        }
    }
    let users = |object: &u64| {
        let of_object = lines
            .iter()
            .rev()
            .filter(|line| line.object == Some(*object));
        let tasks = of_object.filter_map(|line| line.task);
        let others = each_once(tasks.filter(|&user| user != task));
        others.into_iter().take(SHARERS)
    };
    let all: Vec<u64> = objects.iter().flat_map(users).collect();
    each_once(all)
}

/// Returns the first task of each list, then the second of each, and so on. Each task is in the result once.
pub(in crate::sim) fn in_turns(lists: &[Vec<u64>]) -> Vec<u64> {
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let turn = |at: usize| lists.iter().filter_map(move |list| list.get(at).copied());
    each_once((0..longest).flat_map(turn))
}

/// Returns the tasks, each once, in the order in which they come first.
pub(in crate::sim) fn each_once(tasks: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut seen = BTreeSet::new();
    tasks
        .into_iter()
        .filter(|&task| seen.insert(task))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_that_are_like_two_others_come_last() {
        let group = |task: u64| (task > 10).then_some(task % 2);
        let order = alike_last(vec![11, 13, 15, 1, 3, 5, 12, 17], group);
        assert_eq!(order, [11, 13, 1, 3, 5, 12, 15, 17]);
    }

    #[test]
    fn tasks_that_were_alive_at_a_fault_are_known() {
        let line = |task, is_end| Line {
            is_end,
            ..Line::new(Some(task), None, "")
        };
        let fault = |host| Line {
            fault: Some(vec![host]),
            ..Line::new(None, None, "")
        };
        let lines = [
            line(11, false),
            line(12, false),
            line(21, false),
            line(13, true),
            fault(1),
            line(11, false),
            fault(1),
            line(14, false),
            fault(2),
        ];
        assert_eq!(at_faults(&lines, &|task| task as u32 / 10), [21, 11, 12]);
    }
}
