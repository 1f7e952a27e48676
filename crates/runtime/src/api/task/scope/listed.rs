//! `Listed`: the children of a scope that have not ended, for the record of the wait for them.
//!
//! A child has a key from before its start until its future has been dropped, and the number of its task once that is
//! known. Without records nothing is listed.

use std::collections::BTreeMap;

use blitz_io_observe::{IS_ENABLED, NAMES, Object};
use blitz_io_sync::thread::Mutex;

use crate::kernel::task::Id;

#[derive(Default)]
pub(super) struct Listed {
    object: Object,
    children: Mutex<Children>,
}

#[derive(Default)]
struct Children {
    next: u64,
    /// The task of each child, by its key; `None` before it is known.
    tasks: BTreeMap<u64, Option<Id>>,
}

impl Listed {
    pub(super) fn object(&self) -> &Object {
        &self.object
    }

    /// Adds a child that is about to be started, and returns its key.
    pub(super) fn add(&self) -> u64 {
        if !IS_ENABLED {
            return 0;
        }
        let mut children = self.children.lock();
        children.next += 1;
        let key = children.next;
        children.tasks.insert(key, None);
        children.note(&self.object);
        key
    }

    /// Notes the task of a child, unless it has ended.
    pub(super) fn started(&self, key: u64, task: Id) {
        if IS_ENABLED {
            let mut children = self.children.lock();
            if let Some(known) = children.tasks.get_mut(&key) {
                *known = Some(task);
                children.note(&self.object);
            }
        }
    }

    pub(super) fn remove(&self, key: u64) {
        if IS_ENABLED {
            let mut children = self.children.lock();
            children.tasks.remove(&key);
            children.note(&self.object);
        }
    }
}

impl Children {
    /// Names the first children in the record, and counts the others.
    fn note(&self, object: &Object) {
        let known = self.tasks.values().flatten().take(NAMES);
        let mut names = [0; NAMES];
        let mut named = 0;
        for (place, task) in names.iter_mut().zip(known) {
            *place = task.as_u64();
            named += 1;
        }
        object.set_members(names, self.tasks.len() - named);
    }
}
