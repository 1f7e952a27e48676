//! `Families`: the tasks whose scopes have children, and these children.
//!
//! # A child stays if its owner does
//!
//! A scope drops or aborts its children if its owner, the task or thread that awaits it, stops to do so. So if the owner may
//! proceed, a child may end.
//!
//! # Guards in a family
//!
//! The children of a scope may borrow from the owner, unless they are tasks that run in parallel and are awaited. So they may
//! have guards of each other: a child has one that the owner has taken, and gives one of its own back to the owner as its
//! result. The record of a lock names the task or child that took it. So such a holder keeps the lock
//!
//! - likely, if neither it nor a child of it may proceed, nor a child of these, and so on;
//! - certainly, if no member of its family may: neither the outermost owner, nor a child of it, and so on. This also is the rule for
//!   a child that waits for a lock of its own.

use std::collections::BTreeSet;

use blitz_io_observe::collections::{HashMap, HashSet};

use crate::snapshot::{ChildOf, Snapshot, Waiter};

/// Owners are followed so far.
const MOST: usize = 64;

/// The owners and children of a snapshot.
#[derive(Default)]
pub(crate) struct Families {
    of_child: HashMap<Waiter, ChildOf>,
    /// The children of each scope, by the number of its object.
    of_scope: HashMap<u64, Vec<Waiter>>,
}

/// The members of families with a relative that may proceed.
#[derive(Default)]
pub(crate) struct Loose {
    /// A descendant of these may.
    ancestors: HashSet<Waiter>,
    /// A member of the families of these outermost owners may.
    families: HashSet<Waiter>,
}

impl Families {
    pub(crate) fn new(snapshot: &Snapshot) -> Self {
        let mut families = Self::default();
        for task in &snapshot.tasks {
            if let Some(of) = task.child_of {
                let child = Waiter::Task(task.id);
                families.of_child.insert(child, of);
                families.of_scope.entry(of.scope).or_default().push(child);
            }
        }
        families
    }

    /// Returns the children of the scope with this object that the snapshot has.
    pub(crate) fn of_scope(&self, object: u64) -> &[Waiter] {
        self.of_scope.get(&object).map_or(&[], Vec::as_slice)
    }

    /// Returns the task or thread that awaits the scope of a child, the one that awaits the scope of that, and so on.
    pub(crate) fn owners(&self, waiter: Waiter) -> impl Iterator<Item = Waiter> + '_ {
        let owner = |waiter: &Waiter| Some(self.of_child.get(waiter)?.owner);
        std::iter::successors(owner(&waiter), owner).take(MOST)
    }

    /// Returns `true` unless the waiter is a child whose owner is not in the set.
    pub(crate) fn owner_is_in(&self, waiter: Waiter, all: &BTreeSet<Waiter>) -> bool {
        let of = self.of_child.get(&waiter);
        of.is_none_or(|of| all.contains(&of.owner))
    }

    /// Returns the owners that share guards with a waiter, the outermost last.
    fn relatives(&self, waiter: Waiter) -> impl Iterator<Item = Waiter> + '_ {
        let owner = |waiter: &Waiter| {
            let of = self.of_child.get(waiter).filter(|of| of.borrows);
            of.map(|of| of.owner)
        };
        std::iter::successors(owner(&waiter), owner).take(MOST)
    }

    /// Returns the outermost owner of the waiter's family.
    pub(crate) fn outermost(&self, waiter: Waiter) -> Waiter {
        self.relatives(waiter).last().unwrap_or(waiter)
    }

    /// Returns the members of families that have a relative outside of the set.
    pub(crate) fn loose(&self, all: &BTreeSet<Waiter>) -> Loose {
        let mut loose = Loose::default();
        for &child in self.of_child.keys() {
            let outermost = self.outermost(child);
            if !all.contains(&child) {
                loose.ancestors.extend(self.relatives(child));
                loose.families.insert(outermost);
            }
            if !all.contains(&outermost) {
                loose.families.insert(outermost);
            }
        }
        loose
    }

    /// Returns `true` if a holder in the set keeps what it has taken, also if another member of its family has the guard.
    /// `certain`: for certain.
    pub(crate) fn keeps_guard(&self, holder: Waiter, loose: &Loose, certain: bool) -> bool {
        let may_leave = certain && loose.families.contains(&self.outermost(holder));
        !may_leave && !loose.ancestors.contains(&holder)
    }
}
