//! `Ended`: the children of scopes that have ended. A loop with a scope has new ones in each turn, so of those that one line has spawned
//! only the last ones are shown.

use std::collections::{BTreeMap, BTreeSet};

use blitz_io_inspect::Snapshot;
use blitz_io_inspect::trace::Words;
use blitz_io_observe::number_of_child;

use super::involved::ALIKE;
use super::line::Line;

/// The children that have ended.
pub(super) struct Ended<'a> {
    /// The lines that have spawned them, by the names of the children.
    spawned_at: BTreeMap<&'a str, &'a str>,
}

impl<'a> Ended<'a> {
    pub(super) fn of(words: &'a Words, snapshot: &Snapshot) -> Self {
        let all = words.children.iter();
        let ended = all.filter(|child| snapshot.task(number_of_child(child.number)).is_none());
        Self {
            spawned_at: ended
                .map(|child| (child.name.as_str(), child.spawned_at.as_str()))
                .collect(),
        }
    }

    /// Returns `true` if the child of this name has ended.
    pub(super) fn has(&self, child: &str) -> bool {
        self.spawned_at.contains_key(child)
    }

    /// Removes the lines of children that are like several later ones. Returns for each line of the source their number, and the name of
    /// such a later one. A child with a note or a panic is none of them.
    pub(super) fn fold(&self, lines: &mut Vec<Line>) -> Vec<(usize, String)> {
        let matters = |line: &&Line| line.is_note || line.panic().is_some();
        let that_matter = lines.iter().filter(matters);
        let mut seen: BTreeSet<&str> = that_matter
            .filter_map(|line| line.child.as_deref())
            .collect();
        // The last one comes first.
        let mut alike: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for child in lines.iter().rev().filter_map(|line| line.child.as_deref()) {
            if let Some(place) = self.spawned_at.get(child) {
                if seen.insert(child) {
                    alike.entry(place).or_default().push(child);
                }
            }
        }
        let mut folded = Vec::new();
        let mut removed: BTreeSet<String> = BTreeSet::new();
        for children in alike.values().filter(|children| children.len() > ALIKE) {
            let (last, earlier) = children.split_at(ALIKE);
            folded.push((earlier.len(), last[ALIKE - 1].to_owned()));
            removed.extend(earlier.iter().map(|child| (*child).to_owned()));
        }
        let is_kept = |line: &Line| !line.child.as_ref().is_some_and(|own| removed.contains(own));
        lines.retain(is_kept);
        folded
    }
}
