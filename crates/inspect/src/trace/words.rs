//! The last events of tasks in words, for the report of a simulation.

use std::collections::{BTreeSet, HashMap};

use blitz_io_observe::Mode;

use super::recording::{Ender, Event, For, Recording, Target, What};
use crate::snapshot::Waiter;

/// What happened to a task, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The task.
    pub task: u64,
    /// Number of polls of all chosen tasks that had begun by then.
    pub poll: usize,
    /// The task has woken itself, to run again after others.
    pub yields: bool,
    /// It has happened after the end of that poll: a timer has woken the task.
    pub is_later: bool,
    /// The event: a sentence without its subject.
    pub text: String,
}

/// A recording, and the kinds of its objects.
struct Words<'a> {
    recording: &'a Recording,
    /// The kind of each object, as waits and locks name it.
    kinds: HashMap<usize, &'a str>,
}

impl Recording {
    /// Returns the tasks of the polls of these tasks, in their order, and the events of the tasks in words.
    #[doc(hidden)]
    #[must_use]
    pub fn words(&self, tasks: &BTreeSet<u64>) -> (Vec<u64>, Vec<Said>) {
        let words = Words::new(self);
        let (mut polls, mut said) = (Vec::new(), Vec::new());
        // The task whose poll has just ended.
        let mut ended = None;
        let own = |event: &&Event| matches!(event.waiter, Waiter::Task(id) if tasks.contains(&id));
        let mut events = self.events.iter().filter(own).peekable();
        while let Some(event) = events.next() {
            let Waiter::Task(task) = event.waiter else {
                continue;
            };
            match event.what {
                What::Poll { .. } => {
                    polls.push(task);
                    ended = None;
                }
                What::PollEnd => ended = Some(task),
                _ => {}
            }
            let is_repeated = events.peek().is_some_and(|next| implies(next, event));
            if let Some(text) = words.of(event, ended).filter(|_| !is_repeated) {
                said.push(Said {
                    task,
                    poll: polls.len(),
                    yields: is_own_wake(event),
                    is_later: matches!(event.what, What::Wake { by: Ender::Timer }),
                    text,
                });
            }
        }
        (polls, said)
    }
}

/// Returns `true` if the next event implies this one. A waiter that takes an object has begun an operation on it, and waits no
/// more. A waiter that waits for an object has begun an operation on it.
fn implies(next: &Event, event: &Event) -> bool {
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

impl<'a> Words<'a> {
    fn new(recording: &'a Recording) -> Self {
        let mut kinds = HashMap::new();
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
        Self { recording, kinds }
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
                format!("is woken by the end of task {}", ended.unwrap_or_default())
            }
            What::Spawn {
                parent, location, ..
            } => format!("is spawned by {}{}", of_waiter(parent), self.at(location)),
            What::Wait(wait) => {
                format!("waits for {}{}", self.target(wait), self.at(wait.location))
            }
            What::Block(wait) => format!(
                "blocks its thread for {}{}",
                self.target(wait),
                self.at(wait.location)
            ),
            What::WaitEnd(wait) => format!("waits no more for {}", self.target(wait)),
            What::Wake { .. } if is_own_wake(event) => "yields".to_owned(),
            What::Wake { by } => format!("is woken by {}", of_ender(by)),
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
            | What::Delay { .. } => {
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
        text.map_or_else(String::new, |text| format!(", at {text}"))
    }

    fn target(&self, wait: For) -> String {
        let (kind, name) = self.recording.kind(wait.kind);
        match wait.target {
            Target::Object(object) => self.named(name, object),
            Target::Number(task) => match kind.map(|kind| kind.semantics().mode) {
                Some(Mode::Join) if task != 0 => format!("{name} of task {task}"),
                _ => name.to_owned(),
            },
        }
    }

    fn object(&self, object: usize) -> String {
        let kind = self.kinds.get(&object).copied().unwrap_or("object");
        self.named(kind, object)
    }

    /// Objects without a name have a number: their place in the recording.
    fn named(&self, kind: &str, object: usize) -> String {
        match self.recording.object(object) {
            Some(name) => format!("{kind} \"{name}\""),
            None => format!("{kind} #{object}"),
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

fn of_ender(ender: Ender) -> String {
    match ender {
        Ender::Waiter(waiter) => of_waiter(waiter),
        Ender::Timer => "a timer".to_owned(),
        Ender::System => "the system".to_owned(),
        Ender::Unknown => "a thread".to_owned(),
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
            "objects":["log",null,null],"events":[
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
            [4,12,1,8,{one},0,0],
            [9,13,1,0,{one},{two},0],
            [1,14,0,0,{one},2,0],
            [11,15,2,3,{one},0,2],
            [12,16,0,3,{one},0,0],
            [2,17,0,0,{one},2,0],
            [9,18,0,0,{one},2,0]
            ]}}"#
        );
        let recording = Recording::parse(text.as_bytes()).unwrap();
        let (polls, said) = recording.words(&BTreeSet::from([7]));
        assert_eq!(polls, [7, 7, 7]);
        let texts: Vec<(usize, &str)> = said.iter().map(|s| (s.poll, s.text.as_str())).collect();
        assert_eq!(
            texts,
            [
                (1, "waits for Mutex \"log\", at b.rs:4"),
                (1, "is woken by task 8"),
                (2, "takes Mutex \"log\", at b.rs:4"),
                (2, "is about to use object #2"),
                (2, "releases Mutex \"log\""),
                (2, "yields"),
                (2, "waits for JoinHandle of task 8"),
                (2, "is woken by a timer"),
                (3, "is woken by the end of task 7"),
            ]
        );
        assert_eq!(said.iter().filter(|said| said.yields).count(), 1);
        assert_eq!(said.iter().filter(|said| said.is_later).count(), 1);
        let (polls, said) = recording.words(&BTreeSet::from([8]));
        assert_eq!(
            (polls.len(), said[0].text.as_str()),
            (0, "is spawned by task 7, at a.rs:3")
        );
    }
}
