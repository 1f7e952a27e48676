//! The last events of tasks in words, for the report of a simulation.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use blitz_io_observe::{Kind, Mode, SUBSTITUTE, is_future, number_of_child};

use super::recording::{Abort, Ender, Event, For, Recording, Target, What};
use crate::names::{OTHER_THREAD, is_of_channel, short_future};
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

/// Returns `true` if one of the events that follow implies this one: the next, or that after the end of the wait for an object.
fn implied_later(later: &[&Event], event: &Event) -> bool {
    // Wake-ups of others may lie between.
    let own = later.iter().filter(|next| next.waiter == event.waiter);
    let mut later = own.skip_while(|next| implied_by(event, next));
    later.next().is_some_and(|next| implies(next, event))
}

/// Returns `true` if the event of its waiter before this one implies it.
fn implied_before(earlier: &[&Event], event: &Event) -> bool {
    if !matches!(event.what, What::WaitEnd(_)) {
        return false;
    }
    let mut own = earlier
        .iter()
        .rev()
        .filter(|before| before.waiter == event.waiter);
    own.next().is_some_and(|before| implied_by(before, event))
}

/// Returns `true` if the next event implies this one. A waiter that takes an object has begun an operation on it, and waits no
/// more. A waiter that waits for an object, or has done something with it, has begun an operation on it. A task that yields by its waker has woken itself.
fn implies(next: &Event, event: &Event) -> bool {
    if matches!(next.what, What::Yields { .. }) {
        return is_own_wake(event) && next.waiter == event.waiter;
    }
    let is_begin = matches!(event.what, What::Operates { .. });
    let (What::WaitEnd(For {
        target: Target::Object(object),
        ..
    })
    | What::Operates { object, .. }) = event.what
    else {
        return false;
    };
    let is_same = match next.what {
        What::Acquired { object: taken, .. } | What::Permits { object: taken, .. } => {
            taken == object
        }
        What::Wait(wait) => is_begin && wait.target == Target::Object(object),
        // It begins with it again, or has done it.
        What::Operates { object: used, .. } => used == object,
        // It is about that object.
        What::Noted { kind, .. } => kind != 0,
        _ => false,
    };
    is_same && next.waiter == event.waiter
}

/// Returns the id of a child; `None` for a task or thread.
fn id_of(waiter: Waiter) -> Option<u64> {
    id_of_child(waiter.task()?)
}

/// Returns `true` if the event before it implies this one. A waiter that operates on an object waits for it no more.
fn implied_by(before: &Event, event: &Event) -> bool {
    let What::Operates { object, .. } = before.what else {
        return false;
    };
    let ends =
        matches!(event.what, What::WaitEnd(For { target: Target::Object(of), .. }) if of == object);
    ends && before.waiter == event.waiter
}

fn is_own_wake(event: &Event) -> bool {
    matches!(event.what, What::Wake { by: Ender::Waiter(by) } if by == event.waiter)
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

    /// Returns `true` if a wait is a part of a scope that the program does not know.
    fn is_within_scope(&self, wait: For) -> bool {
        self.recording.kind(wait.kind).0 == Some(Kind::ScopeFailure)
    }

    /// Returns the sentence about a wait, or an operation that has not begun, whose future was dropped.
    fn dropped(&self, event: &Event, was_at_point: bool) -> Option<String> {
        let What::WaitEnd(wait) = event.what else {
            return None;
        };
        // The record of a stream stays when a future that reads is dropped, and ends with the stream.
        if self.part_of_files(wait).is_some()
            || self.is_of_stream(wait)
            || self.is_within_scope(wait)
        {
            return None;
        }
        let place = self.at(wait.location);
        let operation = match wait.target {
            Target::Object(object) if was_at_point => Some(self.begun(wait.kind, object)),
            _ => None,
        };
        let operation = operation.filter(|operation| !operation.starts_with(USE));
        let operation = operation.map_or_else(
            || format!("waiting for {}", self.target(wait)),
            |operation| gerund(&operation),
        );
        Some(format!(
            "gives up {operation}{place}: the future is dropped"
        ))
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

    /// Returns the number of an object without a name: they are numbered in the order of their first events.
    fn number(&self, thing: Thing) -> u64 {
        let mut numbers = self.numbers.borrow_mut();
        let next = numbers.len() as u64 + 1;
        *numbers.entry(thing).or_insert(next)
    }

    /// Returns the event in words; `None` if other events say the same, and for locks of threads: no task waits for
    /// these. `step`: the task of the step. `polled`: the same, if its poll has ended. `used`: the object that the task has begun
    /// to use last.
    fn of(
        &self,
        event: &Event,
        (step, polled): (Option<Waiter>, Option<Waiter>),
        used: Option<usize>,
    ) -> Option<String> {
        if self.is_within_files(event, polled) {
            return None;
        }
        let text = match event.what {
            What::Acquired { object, .. } | What::Released { object }
                if self.is_of_threads(object) =>
            {
                return None;
            }
            What::Spawn {
                parent, location, ..
            } => {
                if self.is_hidden(location) {
                    // By the simulation: as the run has begun, or a host.
                    return self.task(parent).map(|_| "begins".to_owned());
                }
                format!("{SPAWNED}{}", self.actor(parent, step))
            }
            What::Aborted { by, why, location } => {
                let why = match why {
                    Some(Abort::SetDropped) => ", which drops its JoinSet",
                    Some(Abort::SetShutDown) => ", which shuts its JoinSet down",
                    Some(Abort::ScopeEnded) => ", as its scope has ended",
                    Some(Abort::ScopeDropped) => ", as its scope was dropped",
                    // It is a child that has panicked, and ends so.
                    Some(Abort::ScopeFailed) if by == event.waiter => return None,
                    Some(Abort::ScopeFailed) => ", as its scope has failed",
                    None => "",
                };
                format!(
                    "is aborted by {}{why}{}",
                    self.actor(by, step),
                    self.at(location)
                )
            }
            What::Noted {
                kind,
                number,
                location,
            } => {
                let text = self.with_numbers(self.known.notes.get(&number)?);
                let place = self.at(location);
                match used.filter(|_| kind != 0) {
                    Some(object) => format!("{}{place}", text.replace("{}", &self.object(object))),
                    None => format!("{text}{place}"),
                }
            }
            What::Wait(wait) | What::WaitEnd(wait) if self.is_within_scope(wait) => return None,
            What::Wait(wait) => {
                let target = match self.side_of_socket(wait) {
                    Some(side) => format!("until its socket is {side}"),
                    None => format!("for {}", self.target(wait)),
                };
                format!("waits {target}{}", self.at(wait.location))
            }
            What::Block(wait) => format!(
                "blocks its thread for {}{}",
                self.target(wait),
                self.at(wait.location)
            ),
            // The packet, timer or task that wakes the task says as much.
            What::WaitEnd(wait) if self.is_of_stream(wait) => return None,
            What::WaitEnd(wait) => format!("waits no more for {}", self.target(wait)),
            What::Wake { .. } if is_own_wake(event) => "yields".to_owned(),
            What::Yields { location } => format!("yields{}", self.at(location)),
            What::Wake { by } => format!("is woken by {}", self.ender(by, step)),
            What::Acquired {
                kind,
                object,
                location,
            } => {
                let object = self.named(self.recording.kind(kind).1, object);
                format!("takes {object}{}", self.at(location))
            }
            What::Released { object } => format!("releases {}", self.object(object)),
            What::Permits {
                object,
                count,
                location,
            } => format!(
                "takes {} of {}{}",
                permits(count),
                self.object(object),
                self.at(location)
            ),
            What::PermitsBack { object, count } => {
                format!("gives {} back to {}", permits(count), self.object(object))
            }
            What::Operates { kind, object } => format!("{ABOUT_TO}{}", self.begun(kind, object)),
            What::Request { name, .. } => {
                format!("begins the request \"{}\"", self.recording.name(name))
            }
            What::RequestEnd { .. } => "ends a request".to_owned(),
            What::Sent(_) => "sends a message to another process".to_owned(),
            What::Received(_) => "receives a message of another process".to_owned(),
            What::Poll { .. }
            | What::PollEnd
            | What::Enter { .. }
            | What::Leave { .. }
            | What::JobQueued { .. }
            | What::JobBegins { .. }
            | What::JobEnds { .. }
            | What::Peer { .. }
            | What::Delay { .. }
            | What::Processor { .. }
            | What::WaitDropped
            | What::TaskEnd
            | What::Reason { .. } => {
                return None;
            }
        };
        Some(text)
    }

    /// Returns a sentence in which objects that have only an origin have their numbers in these events: see [`SUBSTITUTE`].
    fn with_numbers<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut parts = text.splitn(3, SUBSTITUTE);
        let (Some(before), Some(number), Some(after)) = (parts.next(), parts.next(), parts.next())
        else {
            return text.into();
        };
        match number.parse() {
            Ok(0) => format!("{before}{after}").into(),
            Ok(number) => {
                let number = self.number(Thing::Made(number));
                format!("{before} #{number}{after}").into()
            }
            Err(_) => text.into(),
        }
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

    /// Returns `true` if an event is between a task and its operation on a file, or about a part of a file. The operation and
    /// the wait for it are events of their own.
    fn is_within_files(&self, event: &Event, ended: Option<Waiter>) -> bool {
        match event.what {
            What::Acquired { object, .. }
            | What::Released { object }
            | What::Operates { object, .. }
            | What::Permits { object, .. }
            | What::PermitsBack { object, .. } => self.is_of_files(object),
            What::WaitEnd(wait) => self.part_of_files(wait).is_some(),
            What::Wake {
                by: Ender::Waiter(by),
            } => {
                // A task that ends wakes after its last poll.
                let by = ended
                    .filter(|_| matches!(by, Waiter::Thread(_)))
                    .unwrap_or(by);
                self.operations.contains(&by)
            }
            _ => false,
        }
    }

    /// Returns `true` if an event is the begin of a wait for an operation on a file that has happened then: that is an event of
    /// its own.
    fn is_done_later(&self, later: &[&Event], event: &Event) -> bool {
        let What::Wait(wait) = event.what else {
            return false;
        };
        if self.part_of_files(wait) != Some(DISK) {
            return false;
        }
        let mut own = later.iter().filter(|next| next.waiter == event.waiter);
        let next = own.find_map(|next| match next.what {
            What::Noted { number, .. } if !(self.known.is_step)(number) => Some(true),
            What::WaitEnd(ended) if ended == wait => Some(false),
            _ => None,
        });
        next.unwrap_or(false)
    }

    /// Returns `true` if an object is a part of a file.
    fn is_of_files(&self, object: usize) -> bool {
        let created = object
            .checked_sub(1)
            .and_then(|at| self.recording.created.get(at));
        let created = created.and_then(Option::as_deref);
        created.is_some_and(self.known.is_of_files)
    }

    /// Returns the target of a wait in the code of files; `None` for all other waits.
    fn part_of_files(&self, wait: For) -> Option<&'static str> {
        match wait.target {
            Target::Object(object) => self.is_of_files(object).then_some(OTHER_OPERATION),
            Target::Number(task) => {
                let kind = self.recording.kind(wait.kind).0;
                let is_join = kind.is_some_and(|kind| kind.semantics().mode == Mode::Join);
                let is_operation = is_join && self.operations.contains(&Waiter::Task(task));
                is_operation.then_some(DISK)
            }
        }
    }

    fn is_of_threads(&self, object: usize) -> bool {
        let kind = self.kinds.get(&object);
        kind.is_some_and(|kind| kind.starts_with("thread::"))
    }

    fn at(&self, location: usize) -> String {
        let text = self.place(location);
        text.map_or_else(String::new, |text| format!(", at {text}"))
    }

    /// Returns a location in the program.
    fn place(&self, location: usize) -> Option<&str> {
        let text = self.recording.location(location)?;
        Some(text).filter(|text| !(self.known.is_hidden)(text) && !(self.known.is_of_files)(text))
    }

    fn is_hidden(&self, location: usize) -> bool {
        self.place(location).is_none()
    }

    fn waiter(&self, waiter: Waiter) -> String {
        let outermost = self.recording.children.outermost(waiter);
        let name = match self.task(outermost) {
            Some(task) => (self.known.name)(task),
            None => of_waiter(outermost),
        };
        match self.child(waiter) {
            Some(child) => format!("{child} of {name}"),
            None => name,
        }
    }

    fn ender(&self, ender: Ender, step: Option<Waiter>) -> String {
        match ender {
            Ender::Waiter(waiter) => self.actor(waiter, step),
            Ender::Timer => "a timer".to_owned(),
            Ender::System => "the system".to_owned(),
            Ender::Unknown => OTHER_THREAD.to_owned(),
        }
    }

    /// Returns the name of the task that does something, or of what else does it. `step`: the task of the step. The thread of the
    /// simulation polls no task when that task's future is dropped and when its end wakes others.
    fn actor(&self, waiter: Waiter, step: Option<Waiter>) -> String {
        match (waiter, step.and_then(|step| self.task(step))) {
            (Waiter::Thread(thread), _) if thread != self.known.thread => OTHER_THREAD.to_owned(),
            (Waiter::Thread(_), Some(task)) => format!("the end of {}", (self.known.name)(task)),
            (Waiter::Thread(_), None) => "the simulation".to_owned(),
            _ => self.waiter(waiter),
        }
    }

    fn target(&self, wait: For) -> String {
        if let Some(part) = self.part_of_files(wait) {
            return part.to_owned();
        }
        let (kind, name) = self.recording.kind(wait.kind);
        match wait.target {
            Target::Object(object) => self.named(name, object),
            Target::Number(number) if kind.is_some_and(is_made) && number != 0 => {
                format!("{name} #{}", self.number(Thing::Made(number)))
            }
            Target::Number(task) => match kind.map(|kind| kind.semantics().mode) {
                Some(Mode::Join) if task != 0 => {
                    let task = Waiter::Task(task);
                    let known = self.place(wait.location).is_some();
                    let spawn = self.spawns.get(&task).filter(|_| !known);
                    let spawn = spawn.and_then(|&location| self.place(location));
                    let spawn = spawn.map_or_else(String::new, |at| format!(", spawned at {at}"));
                    format!("{name} of {}{spawn}", self.waiter(task))
                }
                _ => name.to_owned(),
            },
        }
    }

    /// Returns the state of a socket for which a wait is, if it is one for a socket.
    fn side_of_socket(&self, wait: For) -> Option<&'static str> {
        match self.recording.kind(wait.kind).0? {
            Kind::Readable => Some("readable"),
            Kind::Writable => Some("writable"),
            _ => None,
        }
    }

    /// Returns `true` if a wait is one for a socket or a stream in memory. Its end is that of its waker.
    fn is_of_stream(&self, wait: For) -> bool {
        let kind = self.recording.kind(wait.kind).0;
        let is_in_memory = matches!(kind, Some(Kind::MemoryRead | Kind::MemoryWrite));
        is_in_memory || self.side_of_socket(wait).is_some()
    }

    /// Returns the name of an object in an event that does not say which operation it is about: "RwLock", not "RwLock (read)", and
    /// not the end of a channel.
    fn object(&self, object: usize) -> String {
        let kind = self.kinds.get(&object).copied().unwrap_or("object");
        let before = |mark: &str| kind.split_once(mark).map_or(kind, |(before, _)| before);
        if is_of_channel(kind) {
            self.named(&format!("{} channel", before("::")), object)
        } else {
            self.named(before(" ("), object)
        }
    }

    /// Returns the operation of this kind that a task begins on an object. 0: it is not known.
    fn begun(&self, kind: u8, object: usize) -> String {
        let (known, name) = self.recording.kind(kind);
        match known.filter(|_| kind != 0) {
            Some(Kind::MemoryRead) => format!("read from {}", self.object(object)),
            Some(Kind::MemoryWrite) => format!("write to {}", self.object(object)),
            Some(Kind::Semaphore) => format!("acquire from {}", self.object(object)),
            Some(Kind::Mutex | Kind::Read | Kind::Write) => {
                format!("lock {}", self.named(name, object))
            }
            Some(kind) => match kind.semantics().mode {
                Mode::Send => format!("send to {}", self.object(object)),
                Mode::Receive => format!("receive from {}", self.object(object)),
                _ => format!("{USE}{}", self.object(object)),
            },
            None => format!("{USE}{}", self.object(object)),
        }
    }

    fn named(&self, kind: &str, object: usize) -> String {
        match self.recording.object(object) {
            Some(name) => format!("{kind} \"{name}\""),
            None => format!("{kind} #{}", self.number(Thing::Object(object))),
        }
    }
}

/// Returns an operation that begins with its verb, such as `lock Mutex #1`, as a noun.
fn gerund(operation: &str) -> String {
    let (verb, object) = operation.split_once(' ').unwrap_or((operation, ""));
    let verb = verb.strip_suffix('e').unwrap_or(verb);
    format!("{verb}ing {object}")
}

/// Returns `true` for a wait whose object has no record but of its origin.
const fn is_made(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::OneshotReceive | Kind::OneshotClosed | Kind::Cancelled
    )
}

/// An event has at most the greatest number.
fn permits(count: u8) -> String {
    match count {
        1 => "1 permit".to_owned(),
        u8::MAX => format!("{} or more permits", u8::MAX),
        _ => format!("{count} permits"),
    }
}

fn of_waiter(waiter: Waiter) -> String {
    match waiter {
        Waiter::Task(id) if id >= 1 << 52 => "block_on".to_owned(),
        // It belongs to another run, or its first events are lost.
        Waiter::Task(id) if id_of_child(id).is_some() => "a child".to_owned(),
        Waiter::Task(id) if is_future(id) => short_future(id),
        Waiter::Task(id) => format!("task {id}"),
        Waiter::Thread(_) => OTHER_THREAD.to_owned(),
        Waiter::Process(pid) => format!("process {pid}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The word of a task.
    const fn task(id: u64) -> u64 {
        id << 1 | 1
    }

    #[test]
    fn events_are_sentences_with_lines_and_names() {
        let (one, two) = (task(7), task(8));
        let text = format!(
            r#"{{"format":1,"kinds":["Mutex","JoinHandle","thread::Mutex"],"locations":["a.rs:3","b.rs:4"],
            "objects":["log",null,null],"ids":[70,80,90],"events":[
            [10,1,0,0,{two},{one},1],
            [29,2,0,91,{one},0,0],
            [1,2,0,0,{one},2,0],
            [3,3,0,1,{one},0,2],
            [2,4,0,0,{one},2,0],
            [9,5,0,0,{one},{two},0],
            [29,6,0,92,{one},0,0],
            [1,6,0,0,{one},2,0],
            [7,7,0,1,{one},0,2],
            [11,8,0,1,{one},0,2],
            [20,9,0,2,{one},0,0],
            [12,10,0,1,{one},0,0],
            [9,11,0,0,{one},{one},0],
            [9,11,0,0,{one},{one},0],
            [9,11,0,0,{one},{one},2],
            [4,12,1,8,{one},0,0],
            [9,13,1,0,{one},{two},0],
            [29,14,0,93,{one},0,0],
            [1,14,0,0,{one},2,0],
            [11,15,2,3,{one},0,2],
            [12,16,0,3,{one},0,0],
            [3,17,0,2,{one},0,1],
            [29,18,0,4,{one},0,2],
            [2,19,0,0,{one},2,0],
            [9,20,0,0,{one},2,0],
            [30,21,0,5,2,0,0],
            [30,22,0,99,2,0,0],
            [9,23,2,0,{one},2,0]
            ]}}"#
        );
        let recording = Recording::parse(text.as_bytes()).unwrap();
        let notes = BTreeMap::from([(4, "reads".into()), (5, "a packet of a".into())]);
        let words = |tasks: &[u64]| {
            let tasks = tasks.iter().copied().zip(1..).collect();
            recording.words(&Known {
                tasks: &tasks,
                name: &|task| format!("task {task}"),
                notes: &notes,
                thread: 1,
                is_step: &|number| (91..94).contains(&number),
                is_hidden: &|at| at == "a.rs:3",
                is_of_files: &|_| false,
            })
        };
        let Words {
            steps,
            said,
            waits,
            objects,
            ..
        } = words(&[7]);
        assert_eq!(steps, [91, 92, 93]);
        let texts: Vec<(usize, &str)> = said.iter().map(|s| (s.step, s.text.as_str())).collect();
        assert_eq!(
            texts,
            [
                (1, "waits for Mutex \"log\", at b.rs:4"),
                (1, "is woken by task 8"),
                (2, "takes Mutex \"log\", at b.rs:4"),
                (2, "is about to use Mutex #1"),
                (2, "releases Mutex \"log\""),
                (2, "yields"),
                (2, "yields, at b.rs:4"),
                (2, "waits for JoinHandle of task 8"),
                (2, "is woken by a timer"),
                (3, "waits for Mutex #1"),
                (3, "reads, at b.rs:4"),
                (3, "is woken by the end of task 1"),
                (3, "is woken by a packet of a"),
            ]
        );
        assert_eq!(said.iter().filter(|said| said.yields).count(), 1);
        assert_eq!(said.iter().filter(|said| said.is_later).count(), 2);
        // Another simulation has the third object.
        assert_eq!(objects, BTreeMap::from([(80, 1)]));
        let waits: Vec<_> = waits
            .iter()
            .map(|w| (w.step, w.location.as_str()))
            .collect();
        assert_eq!(waits, [(2, ""), (3, "a.rs:3")]);
        let words = words(&[8, 7]);
        assert_eq!(
            (words.steps.len(), words.said[0].text.as_str()),
            (3, "begins")
        );
    }

    /// Task 9 is an operation that task 7 waits for. Task 8 waits for task 7 at the same file.
    #[test]
    fn operations_on_files_are_parts_of_their_tasks() {
        let (one, two, operation) = (task(7), task(8), task(9));
        let text = format!(
            r#"{{"format":1,"kinds":["Mutex","JoinHandle"],"locations":["a.rs:3","fs.rs:4"],"objects":[null],
            "created":["fs.rs:1"],"ids":[70],"events":[
            [29,1,0,91,{one},0,0],
            [20,2,0,1,{one},0,0],
            [11,3,0,1,{one},0,2],
            [10,4,0,0,{operation},{one},2],
            [4,5,1,9,{one},0,1],
            [29,6,0,92,{two},0,0],
            [3,7,0,1,{two},0,2],
            [29,8,0,93,{operation},0,0],
            [29,9,0,4,{one},0,1],
            [2,10,0,0,{operation},2,0],
            [9,11,0,0,{one},2,0],
            [29,12,0,94,{one},0,0],
            [8,13,1,9,{one},0,1],
            [12,14,0,1,{one},0,0],
            [4,15,1,9,{one},0,1]
            ]}}"#
        );
        let recording = Recording::parse(text.as_bytes()).unwrap();
        let words = recording.words(&Known {
            tasks: &BTreeMap::from([(7, 1), (8, 2), (9, 3)]),
            name: &|task| format!("task {task}"),
            notes: &BTreeMap::from([(4, "syncs /log".into())]),
            thread: 1,
            is_step: &|number| number > 90,
            is_hidden: &|_| false,
            is_of_files: &|at| at.starts_with("fs.rs"),
        });
        let said = words.said.iter().filter(|said| said.task != 3);
        let said: Vec<_> = said
            .map(|said| (said.task, said.step, said.text.as_str()))
            .collect();
        assert_eq!(
            said,
            [
                (1, 1, ""),
                (2, 2, "waits for another operation on its file"),
                (1, 3, "syncs /log, at a.rs:3"),
                (1, 4, "waits for the disk, at a.rs:3"),
            ]
        );
    }

    #[test]
    fn children_of_scopes_are_told_apart() {
        let (one, first, second) = (
            task(7),
            task(number_of_child(40)),
            task(number_of_child(50)),
        );
        let text = format!(
            r#"{{"format":1,"kinds":["Mutex","JoinHandle"],"locations":["a.rs:3","b.rs:4"],"objects":["log"],"ids":[70],
            "events":[
            [29,1,0,91,{one},0,0],
            [1,1,0,0,{one},2,0],
            [31,2,0,0,{first},{one},1],
            [9,2,0,0,{one},{one},0],
            [31,3,0,0,{second},{first},2],
            [28,4,0,0,{first},{one},0],
            [11,5,0,1,{first},0,1],
            [28,6,0,0,{second},{first},0],
            [3,7,0,1,{second},0,2],
            [12,8,0,1,{first},0,0],
            [32,8,0,0,{second},{first},0],
            [32,8,0,0,{first},{first},0],
            [9,8,0,0,{one},{first},0],
            [9,8,0,0,{one},{one},0],
            [4,9,1,{target},{one},0,1],
            [2,9,0,0,{one},2,0],
            [32,10,1,0,{first},2,0],
            [9,10,1,0,{one},2,0],
            [9,11,0,0,{one},{second},0]
            ]}}"#,
            target = number_of_child(40)
        );
        let tasks = BTreeMap::from([(7, 1)]);
        let known = Known {
            tasks: &tasks,
            name: &|task| format!("task {task}"),
            notes: &BTreeMap::new(),
            thread: 1,
            is_step: &|number| number == 91,
            is_hidden: &|_| false,
            is_of_files: &|_| false,
        };
        let words = |recording: &Recording| {
            let words = recording.words(&known);
            let said = words.said.iter();
            let said = said.map(|said| format!("{:?} {}", said.child.as_deref(), said.text));
            (said.collect::<Vec<_>>(), words)
        };
        let (said, of) = words(&Recording::parse_with_children(text.as_bytes()).unwrap());
        assert_eq!(
            said,
            [
                r#"Some("child 1") is spawned by task 1"#,
                r#"Some("child 2 of child 1") is spawned by child 1 of task 1"#,
                r#"Some("child 1") takes Mutex "log", at a.rs:3"#,
                r#"Some("child 2 of child 1") waits for Mutex "log", at b.rs:4"#,
                r#"Some("child 1") releases Mutex "log""#,
                r#"Some("child 2 of child 1") is woken by child 1 of task 1"#,
                "None waits for JoinHandle of child 1 of task 1, at a.rs:3",
                r#"Some("child 1") is woken by a timer"#,
                "None is woken by child 2 of child 1 of task 1",
            ]
        );
        let children = of.children.iter();
        let children: Vec<_> = children
            .map(|child| (child.id, child.number, &*child.name, &*child.spawned_at))
            .collect();
        let expected = [
            (40, 1, "child 1", "a.rs:3"),
            (50, 2, "child 2 of child 1", "b.rs:4"),
        ];
        assert_eq!(children, expected);
        let waiters: Vec<u64> = of.waits.iter().map(|wait| wait.waiter).collect();
        assert_eq!(waiters, [number_of_child(2), 1]);
        assert_eq!((of.steps, of.said[0].task), (vec![91], 1));

        // Elsewhere, all is the task's: it is neither spawned nor woken twice.
        let (said, _) = words(&Recording::parse(text.as_bytes()).unwrap());
        assert!(
            said.iter().all(|said| said.starts_with("None ")),
            "{said:?}"
        );
        assert!(
            !said.iter().any(|said| said.contains("spawned")),
            "{said:?}"
        );
    }
}
