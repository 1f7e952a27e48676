//! The last events of tasks in words, for the report of a simulation.

use std::cell::RefCell;
use std::collections::BTreeMap;

use blitz_io_observe::{Kind, Mode};

use super::recording::{Ender, Event, For, Recording, Target, What};
use crate::snapshot::Waiter;

/// The facts about a simulation that its words need.
#[doc(hidden)]
pub struct Known<'a> {
    /// The tasks of the run, and the number that each one has in it.
    pub tasks: &'a BTreeMap<u64, u64>,
    /// Returns the name of the task with this number in the run.
    pub name: &'a dyn Fn(u64) -> String,
    /// The sentences about the tasks, by their numbers. An empty one is the reason of a wake-up that has none.
    pub notes: &'a BTreeMap<u64, String>,
    /// Returns `true` if a location is in the simulation itself.
    pub is_hidden: &'a dyn Fn(&str) -> bool,
}

/// The last events of the tasks of a run. Tasks have their numbers in the run.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// The tasks of the polls, in their order.
    pub polls: Vec<u64>,
    /// The events.
    pub said: Vec<Said>,
    /// The waits that have not ended.
    pub waits: Vec<Began>,
    /// The objects that have a number in these events, by their number in a snapshot.
    pub objects: BTreeMap<u64, u64>,
}

/// What happened to a task, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The task.
    pub task: u64,
    /// Number of polls of all chosen tasks that had begun by then.
    pub poll: usize,
    /// The task has woken itself, to run again after others, and no line of the program says so.
    pub yields: bool,
    /// It has happened after the end of that poll: a timer or a packet has woken the task.
    pub is_later: bool,
    /// The event: a sentence without its subject.
    pub text: String,
}

/// A wait that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Began {
    /// The task that waits.
    pub task: u64,
    /// Number of polls of all chosen tasks that had begun by then.
    pub poll: usize,
    /// The kind of the wait.
    pub kind: String,
    /// Its location, or an empty string.
    pub location: String,
}

/// A recording, and the kinds of its objects.
struct Writer<'a> {
    recording: &'a Recording,
    known: &'a Known<'a>,
    /// The kind of each object, as waits and locks name it.
    kinds: BTreeMap<usize, &'a str>,
    /// The number of each object, by its place.
    numbers: RefCell<BTreeMap<usize, u64>>,
}

impl Recording {
    /// Returns the events of the tasks of a run in words.
    #[doc(hidden)]
    #[must_use]
    pub fn words(&self, known: &Known<'_>) -> Words {
        let writer = Writer::new(self, known);
        let mut words = Words::default();
        let mut waits: Vec<(u64, usize, For)> = Vec::new();
        // The task whose poll has just ended.
        let mut ended = None;
        let mut reason = "";
        let own = |event: &&Event| match event.what {
            What::Reason { number } => known.notes.contains_key(&number),
            _ => writer.task(event.waiter).is_some(),
        };
        let mut events = self.events.iter().filter(own).peekable();
        while let Some(event) = events.next() {
            if let What::Reason { number } = event.what {
                reason = known.notes.get(&number).map_or("", String::as_str);
                continue;
            }
            let Some(task) = writer.task(event.waiter) else {
                continue;
            };
            match event.what {
                What::Poll { .. } => {
                    words.polls.push(task);
                    ended = None;
                }
                What::PollEnd => ended = Some(task),
                What::Wait(wait) => waits.push((task, words.polls.len(), wait)),
                What::WaitEnd(wait) => {
                    let mut all = waits.iter();
                    if let Some(at) = all.rposition(|one| (one.0, one.2) == (task, wait)) {
                        waits.remove(at);
                    }
                }
                _ => {}
            }
            let by_system = matches!(event.what, What::Wake { by: Ender::System });
            let by_timer = matches!(event.what, What::Wake { by: Ender::Timer });
            let is_repeated = events.peek().is_some_and(|next| implies(next, event));
            let text = match reason {
                reason if by_system && !reason.is_empty() => Some(format!("is woken by {reason}")),
                _ => writer.of(event, ended),
            };
            if let Some(text) = text.filter(|_| !is_repeated) {
                words.said.push(Said {
                    task,
                    poll: words.polls.len(),
                    yields: is_own_wake(event),
                    is_later: by_timer || by_system && ended.is_some(),
                    text,
                });
            }
        }
        words.waits = waits.iter().map(|wait| writer.began(wait)).collect();
        words.objects = writer.objects();
        words
    }
}

/// Returns `true` if the next event implies this one. A waiter that takes an object has begun an operation on it, and waits no
/// more. A waiter that waits for an object has begun an operation on it. A task that yields by its waker has woken itself.
fn implies(next: &Event, event: &Event) -> bool {
    if matches!(next.what, What::Yields { .. }) {
        return is_own_wake(event) && next.waiter == event.waiter;
    }
    let is_begin = matches!(event.what, What::Operates { .. });
    let (What::WaitEnd(For {
        target: Target::Object(object),
        ..
    })
    | What::Operates { object }) = event.what
    else {
        return false;
    };
    let is_same = match next.what {
        What::Acquired { object: taken, .. } | What::Permits { object: taken, .. } => {
            taken == object
        }
        What::Wait(wait) => is_begin && wait.target == Target::Object(object),
        _ => false,
    };
    is_same && next.waiter == event.waiter
}

fn is_own_wake(event: &Event) -> bool {
    matches!(event.what, What::Wake { by: Ender::Waiter(by) } if by == event.waiter)
}

impl<'a> Writer<'a> {
    fn new(recording: &'a Recording, known: &'a Known<'a>) -> Self {
        let mut kinds = BTreeMap::new();
        for event in &recording.events {
            let (object, kind) = match event.what {
                What::Wait(For {
                    kind,
                    target: Target::Object(object),
                    ..
                })
                | What::Acquired { kind, object, .. } => (object, kind),
                _ => continue,
            };
            kinds.entry(object).or_insert(recording.kind(kind).1);
        }
        Self {
            recording,
            known,
            kinds,
            numbers: RefCell::default(),
        }
    }

    /// Returns the number of a task in the run.
    fn task(&self, waiter: Waiter) -> Option<u64> {
        self.known.tasks.get(&waiter.task()?).copied()
    }

    fn began(&self, &(task, poll, wait): &(u64, usize, For)) -> Began {
        let location = self.recording.location(wait.location);
        Began {
            task,
            poll,
            kind: self.recording.kind(wait.kind).1.to_owned(),
            location: location.unwrap_or_default().to_owned(),
        }
    }

    /// Returns the objects that have a number.
    fn objects(&self) -> BTreeMap<u64, u64> {
        let numbers = self.numbers.borrow();
        let id = |place: &usize| self.recording.ids.get(place.checked_sub(1)?).copied();
        let known = numbers.iter();
        known
            .filter_map(|(place, number)| Some((id(place)?, *number)))
            .collect()
    }

    /// Returns the number of an object without a name: they are numbered in the order of their first events.
    fn number(&self, object: usize) -> u64 {
        let mut numbers = self.numbers.borrow_mut();
        let next = numbers.len() as u64 + 1;
        *numbers.entry(object).or_insert(next)
    }

    /// Returns the event in words; `None` if other events say the same, and for locks of threads: no task waits for
    /// these. `ended`: the task whose poll has just ended.
    fn of(&self, event: &Event, ended: Option<u64>) -> Option<String> {
        let text = match event.what {
            What::Acquired { object, .. } | What::Released { object }
                if self.is_of_threads(object) =>
            {
                return None;
            }
            // A task that ends wakes those that wait for it after its last poll.
            What::Wake {
                by: Ender::Waiter(Waiter::Thread(_)),
            } if ended.is_some() => {
                let ended = (self.known.name)(ended.unwrap_or_default());
                format!("is woken by the end of {ended}")
            }
            What::Spawn {
                parent, location, ..
            } => {
                let is_known = self.task(parent).is_some();
                if !is_known && self.is_hidden(location) {
                    // The run has begun.
                    return None;
                }
                format!("is spawned by {}{}", self.waiter(parent), self.at(location))
            }
            What::Noted { number, location } => {
                let text = self.known.notes.get(&number)?;
                format!("{text}{}", self.at(location))
            }
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
            // The packet or timer that wakes the task says as much.
            What::WaitEnd(wait) if self.side_of_socket(wait).is_some() => return None,
            What::WaitEnd(wait) => format!("waits no more for {}", self.target(wait)),
            What::Wake { .. } if is_own_wake(event) => "yields".to_owned(),
            What::Yields { location } => format!("yields{}", self.at(location)),
            What::Wake { by } => format!("is woken by {}", self.ender(by)),
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
            What::Operates { object } => format!("is about to use {}", self.object(object)),
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
            | What::Reason { .. } => {
                return None;
            }
        };
        Some(text)
    }

    fn is_of_threads(&self, object: usize) -> bool {
        let kind = self.kinds.get(&object);
        kind.is_some_and(|kind| kind.starts_with("thread::"))
    }

    fn at(&self, location: usize) -> String {
        let text = self.recording.location(location);
        let text = text.filter(|text| !(self.known.is_hidden)(text));
        text.map_or_else(String::new, |text| format!(", at {text}"))
    }

    fn is_hidden(&self, location: usize) -> bool {
        let text = self.recording.location(location);
        text.is_none_or(|text| (self.known.is_hidden)(text))
    }

    fn waiter(&self, waiter: Waiter) -> String {
        match self.task(waiter) {
            Some(task) => (self.known.name)(task),
            None => of_waiter(waiter),
        }
    }

    fn ender(&self, ender: Ender) -> String {
        match ender {
            Ender::Waiter(waiter) => self.waiter(waiter),
            Ender::Timer => "a timer".to_owned(),
            Ender::System => "the system".to_owned(),
            Ender::Unknown => "a thread".to_owned(),
        }
    }

    fn target(&self, wait: For) -> String {
        let (kind, name) = self.recording.kind(wait.kind);
        match wait.target {
            Target::Object(object) => self.named(name, object),
            Target::Number(task) => match kind.map(|kind| kind.semantics().mode) {
                Some(Mode::Join) if task != 0 => {
                    format!("{name} of {}", self.waiter(Waiter::Task(task)))
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

    /// Returns the name of an object in an event that does not say which operation it is about: "RwLock", not "RwLock (read)".
    fn object(&self, object: usize) -> String {
        let kind = self.kinds.get(&object).copied().unwrap_or("object");
        let kind = kind.split_once(" (").map_or(kind, |(kind, _)| kind);
        self.named(kind, object)
    }

    fn named(&self, kind: &str, object: usize) -> String {
        match self.recording.object(object) {
            Some(name) => format!("{kind} \"{name}\""),
            None => format!("{kind} #{}", self.number(object)),
        }
    }
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
        Waiter::Task(id) => format!("task {id}"),
        Waiter::Thread(id) => format!("thread {id}"),
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
            [1,2,0,0,{one},2,0],
            [3,3,0,1,{one},0,2],
            [2,4,0,0,{one},2,0],
            [9,5,0,0,{one},{two},0],
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
                is_hidden: &|at| at == "a.rs:3",
            })
        };
        let Words {
            polls,
            said,
            waits,
            objects,
        } = words(&[7]);
        assert_eq!(polls, [1, 1, 1]);
        let texts: Vec<(usize, &str)> = said.iter().map(|s| (s.poll, s.text.as_str())).collect();
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
            .map(|w| (w.poll, w.location.as_str()))
            .collect();
        assert_eq!(waits, [(2, ""), (3, "a.rs:3")]);
        let words = words(&[8, 7]);
        assert_eq!(
            (words.polls.len(), words.said[0].text.as_str()),
            (3, "is spawned by task 2")
        );
    }
}
