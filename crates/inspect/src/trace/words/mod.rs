//! The last events of tasks in words, for the report of a simulation.

mod files;
mod implied;
mod names;
mod sentence;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use blitz_io_observe::{Kind, number_of_child};

use self::implied::{implied_before, implied_later, is_own_wake};
use super::recording::{Ender, Event, For, Recording, Target, What};
use crate::snapshot::{Waiter, id_of_child};

/// The begin of the sentence about the spawn of a task.
#[doc(hidden)]
pub const SPAWNED: &str = "is spawned by ";
/// The begin of the sentence about an operation that a task begins unless it is preempted there.
#[doc(hidden)]
pub const ABOUT_TO: &str = "is about to ";
/// The operation is not known: it uses its object.
#[doc(hidden)]
pub const USE: &str = "use ";

/// Set in the number of an object that no wait names but by the order in which objects were made: a `oneshot` channel or a
/// `CancellationToken`.
#[doc(hidden)]
pub const MADE: u64 = 1 << 62;

/// The target of a wait for an operation on a file.
#[doc(hidden)]
pub const DISK: &str = "the disk";

/// The target of a wait for the operation of another task on the same file.
#[doc(hidden)]
pub const OTHER_OPERATION: &str = "another operation on its file";

/// The facts about a simulation that its words need.
#[doc(hidden)]
pub struct Known<'a> {
    /// The tasks of the run, and the number that each one has in it.
    pub tasks: &'a BTreeMap<u64, u64>,
    /// Returns the name of the task with this number in the run.
    pub name: &'a dyn Fn(u64) -> String,
    /// The sentences about the tasks, by their numbers. An empty one is the reason of a wake-up that has none.
    pub notes: &'a BTreeMap<u64, String>,
    /// Returns `true` if a number is that of a step. The recording has it where the step begins, as it has a sentence.
    pub is_step: &'a dyn Fn(u64) -> bool,
    /// The number of the thread of the simulation.
    pub thread: u64,
    /// Returns `true` if a location is in the simulation itself.
    pub is_hidden: &'a dyn Fn(&str) -> bool,
    /// Returns `true` if a location is in the code of simulated files. A task that is spawned there is an operation of the task
    /// that spawns it, and an object that is created there is a part of a file.
    pub is_of_files: &'a dyn Fn(&str) -> bool,
}

/// The last events of the tasks of a run. Tasks have their numbers in the run.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// The numbers of the steps, in their order.
    pub steps: Vec<u64>,
    /// The events.
    pub said: Vec<Said>,
    /// The waits that have not ended.
    pub waits: Vec<Began>,
    /// The locations at which tasks were spawned, hidden ones too.
    pub spawned_at: BTreeMap<u64, String>,
    /// The objects that have a number in these events, by their number in a snapshot.
    pub objects: BTreeMap<u64, u64>,
    /// The children of scopes, in the order of their spawns.
    pub children: Vec<Child>,
}

/// A child that the future of its scope polls, in a task of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its id.
    pub id: u64,
    /// Its number in the run, among children.
    pub number: u64,
    /// Its name in its task: `child 2`, or `child 2 of child 1`.
    pub name: String,
    /// The line that has spawned it, or an empty string.
    pub spawned_at: String,
}

/// What happened to a task, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The task.
    pub task: u64,
    /// The name of the child of the task to which it happened; `None` for the task itself.
    pub child: Option<String>,
    /// Number of steps that had begun by then.
    pub step: usize,
    /// The task has woken itself, to run again after others, and no line of the program says so.
    pub yields: bool,
    /// A wait of the task has ended, because it got what it waited for.
    pub ends_wait: bool,
    /// A future of the task that waited was dropped.
    pub drops_wait: bool,
    /// The number of the object of the program that the task has used, among those of the process.
    pub object: Option<u64>,
    /// It has happened after the end of that step: a timer or a packet has woken the task.
    pub is_later: bool,
    /// The event: a sentence without its subject. Empty if a later event of another step says as much.
    pub text: String,
}

/// A wait that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Began {
    /// The task that waits, or [`number_of_child`] of the child's number.
    pub waiter: u64,
    /// Number of steps that had begun by then.
    pub step: usize,
    /// The kind of the wait.
    pub kind: String,
    /// Its location, or an empty string.
    pub location: String,
}

/// An object, by its place or by the number of its origin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Thing {
    Object(usize),
    Made(u64),
}

/// A recording, and the kinds of its objects.
struct Writer<'a> {
    recording: &'a Recording,
    known: &'a Known<'a>,
    /// The kind of each object, as waits and locks name it.
    kinds: BTreeMap<usize, &'a str>,
    /// The location at which each task was spawned, by its number in the process.
    spawns: BTreeMap<Waiter, usize>,
    /// The number of each object.
    numbers: RefCell<BTreeMap<Thing, u64>>,
    /// The number of each child of the run's tasks, by its id.
    children: BTreeMap<u64, u64>,
    /// The tasks that are operations on files.
    operations: BTreeSet<Waiter>,
}

impl Recording {
    /// Returns the events of the tasks of a run in words.
    #[doc(hidden)]
    #[must_use]
    pub fn words(&self, known: &Known<'_>) -> Words {
        let writer = Writer::new(self, known);
        let mut words = Words::default();
        let mut waits: Vec<(Waiter, usize, For)> = Vec::new();
        let mut used = BTreeMap::new();
        // The last wake-up of a child of each task, since the poll of the task has begun.
        let mut woken = BTreeMap::new();
        // The waiters that timers have woken since their polls.
        let mut by_timers: BTreeSet<Waiter> = BTreeSet::new();
        // The task of the step, and whether its poll has ended.
        let mut step: Option<Waiter> = None;
        let mut has_ended = false;
        let mut reason = "";
        let (events, dropped) = writer.events();
        for (at, &event) in events.iter().enumerate() {
            let polled = step.filter(|_| has_ended);
            if let What::Reason { number } = event.what {
                reason = known.notes.get(&number).map_or("", String::as_str);
                continue;
            }
            let Some(task) = writer.task(event.waiter) else {
                continue;
            };
            let mut was_at_point = false;
            match event.what {
                What::Noted { number, .. } if (known.is_step)(number) => {
                    words.steps.push(number);
                    (step, has_ended) = (Some(event.waiter), false);
                    woken.remove(&task);
                    continue;
                }
                What::PollEnd => {
                    has_ended = true;
                    by_timers.retain(|woken| writer.task(*woken) != Some(task));
                }
                What::Operates { object, .. } => {
                    used.insert(event.waiter, object);
                }
                What::Wait(wait) => waits.push((event.waiter, words.steps.len(), wait)),
                What::WaitEnd(wait) => {
                    let mut all = waits.iter();
                    match all.rposition(|one| (one.0, one.2) == (event.waiter, wait)) {
                        Some(at) => _ = waits.remove(at),
                        None => was_at_point = true,
                    }
                }
                What::Wake { .. } if writer.is_for_child(event, woken.get(&task)) => continue,
                What::Wake { by } if id_of(event.waiter).is_some() => {
                    woken.insert(task, (event.waiter, by));
                }
                // It is ready, as a child that is woken.
                What::Spawn { parent, .. } if id_of(event.waiter).is_some() => {
                    woken.insert(task, (event.waiter, Ender::Waiter(parent)));
                }
                _ => {}
            }
            let by_system = matches!(event.what, What::Wake { by: Ender::System });
            let by_timer = matches!(event.what, What::Wake { by: Ender::Timer });
            if by_timer {
                by_timers.insert(event.waiter);
            }
            let (earlier, later) = (&events[..at], &events[at + 1..]);
            let drops_wait = dropped.contains(&at) && !writer.is_deadline(event);
            let is_repeated =
                !drops_wait && (implied_before(earlier, event) || implied_later(later, event));
            let text = match reason {
                reason if by_system && !reason.is_empty() => Some(format!("is woken by {reason}")),
                _ if writer.is_done_later(later, event) => Some(String::new()),
                _ if drops_wait => writer.dropped(event, was_at_point),
                _ => writer.of(event, (step, polled), used.get(&event.waiter).copied()),
            };
            if let Some(text) = text.filter(|_| !is_repeated) {
                words.said.push(Said {
                    task,
                    child: writer.child(event.waiter),
                    step: words.steps.len(),
                    yields: is_own_wake(event),
                    ends_wait: matches!(event.what, What::WaitEnd(_))
                        && !drops_wait
                        && (!writer.is_end_of_timer(event) || by_timers.contains(&event.waiter)),
                    drops_wait,
                    object: writer.used(event, used.get(&event.waiter).copied()),
                    is_later: by_timer || by_system && polled.is_some(),
                    text,
                });
            }
        }
        words.waits = waits.iter().map(|wait| writer.began(wait)).collect();
        words.objects = writer.objects();
        words.children = writer.children();
        words.spawned_at = writer.spawned_at();
        words
    }
}

impl<'a> Writer<'a> {
    fn new(recording: &'a Recording, known: &'a Known<'a>) -> Self {
        let (mut kinds, mut spawns) = (BTreeMap::new(), BTreeMap::new());
        let mut used = BTreeMap::new();
        for event in &recording.events {
            let (object, kind) = match event.what {
                What::Operates { kind, object } => {
                    used.insert(event.waiter, object);
                    if kind == 0 {
                        continue;
                    }
                    (object, kind)
                }
                What::Noted { kind, .. } if kind != 0 => match used.get(&event.waiter) {
                    Some(&object) => (object, kind),
                    None => continue,
                },
                What::Spawn { location, .. } => {
                    spawns.insert(event.waiter, location);
                    continue;
                }
                What::Wait(For {
                    kind,
                    target: Target::Object(object),
                    ..
                })
                // One that has not begun was at its point.
                | What::WaitEnd(For {
                    kind,
                    target: Target::Object(object),
                    ..
                })
                | What::Acquired { kind, object, .. } => (object, kind),
                _ => continue,
            };
            kinds.entry(object).or_insert(recording.kind(kind).1);
        }
        for event in &recording.events {
            if let What::Permits { object, .. } = event.what {
                kinds.entry(object).or_insert(Kind::Semaphore.name());
            }
        }
        let mut this = Self {
            recording,
            known,
            kinds,
            spawns,
            numbers: RefCell::default(),
            children: BTreeMap::new(),
            operations: BTreeSet::new(),
        };
        let is_of_files =
            |location: usize| recording.location(location).is_some_and(known.is_of_files);
        let spawns = this.spawns.iter();
        let operations = spawns.filter(|(_, location)| is_of_files(**location));
        this.operations = operations.map(|(task, _)| *task).collect();
        let all = recording.children.all();
        let own = all.filter(|child| this.task(*child).is_some());
        let ids: BTreeSet<u64> = own.filter_map(id_of).collect();
        this.children = ids.into_iter().zip(1..).collect();
        this
    }

    /// Returns the events of the run's tasks, and the places among them of the waits whose futures were dropped.
    fn events(&self) -> (Vec<&'a Event>, BTreeSet<usize>) {
        let (mut events, mut dropped) = (Vec::new(), BTreeSet::new());
        let mut next: BTreeSet<Waiter> = BTreeSet::new();
        for event in &self.recording.events {
            let is_own = match event.what {
                What::Reason { number } => self.known.notes.contains_key(&number),
                _ => self.task(event.waiter).is_some(),
            };
            match event.what {
                _ if !is_own => continue,
                What::TaskEnd => continue,
                What::WaitDropped => {
                    next.insert(event.waiter);
                    continue;
                }
                What::WaitEnd(_) if next.remove(&event.waiter) => {
                    dropped.insert(events.len());
                }
                _ => {}
            }
            events.push(event);
        }
        (events, dropped)
    }

    /// Returns `true` if an event is about the deadline of another future: it is dropped with that.
    fn is_deadline(&self, event: &Event) -> bool {
        self.kind_ended(event) == Some(Kind::Timeout)
    }

    /// Returns `true` if an event is the end of a timer for which a task waits.
    fn is_end_of_timer(&self, event: &Event) -> bool {
        matches!(self.kind_ended(event), Some(Kind::Sleep | Kind::Interval))
    }

    /// Returns the kind of the wait that ends in an event.
    fn kind_ended(&self, event: &Event) -> Option<Kind> {
        match event.what {
            What::WaitEnd(wait) => self.recording.kind(wait.kind).0,
            _ => None,
        }
    }

    /// Returns the number of a task in the run, or of the task of which it is a child.
    fn task(&self, waiter: Waiter) -> Option<u64> {
        let task = self.recording.children.outermost(waiter).task()?;
        self.known.tasks.get(&task).copied()
    }

    /// Returns the name of a child in its task; `None` for a task.
    fn child(&self, waiter: Waiter) -> Option<String> {
        let around = self.recording.children.around(waiter);
        let numbers = around.filter_map(|child| self.children.get(&id_of(child)?));
        let names: Vec<String> = numbers.map(|number| format!("child {number}")).collect();
        (!names.is_empty()).then(|| names.join(" of "))
    }

    /// Returns the children.
    fn children(&self) -> Vec<Child> {
        let all = self.children.iter().map(|(&id, &number)| {
            let child = Waiter::Task(number_of_child(id));
            let location = self.spawns.get(&child).copied().unwrap_or(0);
            Child {
                id,
                number,
                name: self.child(child).unwrap_or_default(),
                spawned_at: self.recording.location(location).unwrap_or("").to_owned(),
            }
        });
        all.collect()
    }

    /// Returns `true` if a task, or a child, is woken because a child of its own was, which is `woken`: a scope runs its
    /// children. It also wakes itself while some of them are ready.
    fn is_for_child(&self, event: &Event, woken: Option<&(Waiter, Ender)>) -> bool {
        let (Some(&(child, by_first)), What::Wake { by }) = (woken, event.what) else {
            return false;
        };
        let mut owners = self.recording.children.around(child).skip(1);
        owners.any(|owner| owner == event.waiter) && (by == by_first || is_own_wake(event))
    }

    fn began(&self, &(waiter, step, wait): &(Waiter, usize, For)) -> Began {
        let location = self.recording.location(wait.location);
        let child = id_of(waiter).and_then(|id| self.children.get(&id));
        let task = self.task(waiter).unwrap_or_default();
        Began {
            waiter: child.map_or(task, |&number| number_of_child(number)),
            step,
            kind: self.recording.kind(wait.kind).1.to_owned(),
            location: location.unwrap_or_default().to_owned(),
        }
    }

    /// Returns the locations at which the tasks were spawned.
    fn spawned_at(&self) -> BTreeMap<u64, String> {
        let all = self.spawns.iter();
        let known = all.filter_map(|(task, location)| {
            let place = self.recording.location(*location)?;
            let own = Some(*task).filter(|task| id_of(*task).is_none())?;
            Some((self.task(own)?, place.to_owned()))
        });
        known.collect()
    }

    /// Returns the objects that have a number.
    fn objects(&self) -> BTreeMap<u64, u64> {
        let numbers = self.numbers.borrow();
        let id = |thing: &Thing| match thing {
            Thing::Object(place) => self.recording.ids.get(place.checked_sub(1)?).copied(),
            Thing::Made(number) => Some(MADE | number),
        };
        let known = numbers.iter();
        known
            .filter_map(|(thing, number)| Some((id(thing)?, *number)))
            .collect()
    }

    /// Returns the number of the object that a task uses in an event. `used`: the object that it has begun to use last.
    fn used(&self, event: &Event, used: Option<usize>) -> Option<u64> {
        let object = match event.what {
            What::Acquired { object, .. }
            | What::Released { object }
            | What::Operates { object, .. }
            | What::Permits { object, .. }
            | What::PermitsBack { object, .. }
            | What::Wait(For {
                target: Target::Object(object),
                ..
            })
            | What::WaitEnd(For {
                target: Target::Object(object),
                ..
            }) => object,
            What::Noted { kind, .. } if kind != 0 => used?,
            _ => return None,
        };
        (object as u64).into()
    }
}

/// Returns the id of a child; `None` for a task or thread.
fn id_of(waiter: Waiter) -> Option<u64> {
    id_of_child(waiter.task()?)
}

#[cfg(test)]
mod tests;
