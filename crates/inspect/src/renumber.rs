//! Other numbers for the tasks and objects of a snapshot: those of a simulation do not depend on earlier runs and on
//! addresses.

use blitz_io_observe::{id_of_child, is_future, number_of_child};

use crate::objects::NUMBERED_OBJECT;
use crate::snapshot::{Object, Snapshot, Wait, Waiter};

/// The functions that return the other numbers.
struct Numbers<T, C, O> {
    task: T,
    child: C,
    object: O,
}

/// Gives the tasks, the children of scopes and the objects of a snapshot other numbers.
#[doc(hidden)]
pub fn renumber(
    snapshot: &mut Snapshot,
    task: impl FnMut(u64) -> u64,
    child: impl FnMut(u64) -> u64,
    object: impl FnMut(u64) -> u64,
) {
    let mut numbers = Numbers {
        task,
        child,
        object,
    };
    for task in &mut snapshot.tasks {
        if !task.is_root {
            task.id = numbers.task(task.id);
        }
        if let Some(of) = &mut task.child_of {
            of.owner = numbers.waiter(of.owner);
            of.scope = numbers.object(of.scope);
        }
    }
    for wait in &mut snapshot.waits {
        numbers.wait(wait);
    }
    for serves in &mut snapshot.requests {
        serves.task = numbers.task(serves.task);
    }
    for job in &mut snapshot.jobs {
        job.id = numbers.task(job.id);
    }
    for maker in &mut snapshot.makers {
        maker.maker = numbers.waiter(maker.maker);
    }
    for spawned in &mut snapshot.spawned {
        spawned.task = numbers.task(spawned.task);
        spawned.by = spawned.by.map(|by| numbers.waiter(by));
    }
    for end in &mut snapshot.ends {
        end.object = numbers.object(end.object);
        end.user = end.user.map(|user| numbers.waiter(user));
    }
    snapshot.tasks.sort_by_key(|task| task.id);
    snapshot.requests.sort();
    snapshot.jobs.sort_by_key(|job| job.id);
    snapshot.waits.sort_by_key(|wait| wait.waiter);
}

impl<T, C, O> Numbers<T, C, O>
where
    T: FnMut(u64) -> u64,
    C: FnMut(u64) -> u64,
    O: FnMut(u64) -> u64,
{
    fn task(&mut self, number: u64) -> u64 {
        match id_of_child(number) {
            Some(child) => number_of_child((self.child)(child)),
            None if is_future(number) => number,
            None => (self.task)(number),
        }
    }

    fn waiter(&mut self, waiter: Waiter) -> Waiter {
        match waiter {
            Waiter::Task(number) => Waiter::Task(self.task(number)),
            other => other,
        }
    }

    fn object(&mut self, id: u64) -> u64 {
        (self.object)(id) | NUMBERED_OBJECT
    }

    fn wait(&mut self, wait: &mut Wait) {
        wait.waiter = self.waiter(wait.waiter);
        wait.task = wait.task.map(|task| self.task(task));
        if let Some(object) = &mut wait.object {
            self.facts(object);
        }
    }

    fn facts(&mut self, object: &mut Object) {
        object.id = self.object(object.id);
        let all = [&mut object.holder, &mut object.sender, &mut object.receiver];
        let named = all.into_iter().flatten().chain(&mut object.readers);
        for waiter in named {
            *waiter = self.waiter(*waiter);
        }
    }
}

#[cfg(test)]
mod tests {
    use blitz_io_observe::Kind;

    use super::*;
    use crate::names::of_target;

    #[test]
    fn objects_and_tasks_have_small_numbers() {
        let object = Object {
            id: 0x7F00_1234,
            holder: Some(Waiter::Task(4_172)),
            ..Object::default()
        };
        let wait = Wait {
            object: Some(object),
            ..Wait::example(1, Waiter::Task(4_171), Kind::Mutex)
        };
        let mut snapshot = Snapshot {
            waits: vec![wait],
            ..Snapshot::default()
        };
        renumber(&mut snapshot, |task| task - 4_170, |child| child, |_| 5);
        let wait = &snapshot.waits[0];
        assert_eq!(wait.waiter, Waiter::Task(1));
        let object = wait.object.as_ref().unwrap();
        assert_eq!(object.holder, Some(Waiter::Task(2)));
        assert_eq!(of_target(&snapshot, wait), "Mutex #5");
    }
}
