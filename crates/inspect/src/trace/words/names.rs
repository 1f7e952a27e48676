//! The names of tasks, objects and places in sentences.

use blitz_io_observe::{Kind, Mode, is_future};

use super::{Thing, USE, Writer};
use crate::names::{OTHER_THREAD, is_of_channel, short_future};
use crate::snapshot::{Waiter, id_of_child};
use crate::trace::recording::{Ender, For, Target};

impl Writer<'_> {
    /// Returns the number of an object without a name: they are numbered in the order of their first events.
    pub(super) fn number(&self, thing: Thing) -> u64 {
        let mut numbers = self.numbers.borrow_mut();
        let next = numbers.len() as u64 + 1;
        *numbers.entry(thing).or_insert(next)
    }

    pub(super) fn at(&self, location: usize) -> String {
        let text = self.place(location);
        text.map_or_else(String::new, |text| format!(", at {text}"))
    }

    /// Returns a location in the program.
    pub(super) fn place(&self, location: usize) -> Option<&str> {
        let text = self.recording.location(location)?;
        Some(text).filter(|text| !(self.known.is_hidden)(text) && !(self.known.is_of_files)(text))
    }

    pub(super) fn is_hidden(&self, location: usize) -> bool {
        self.place(location).is_none()
    }

    pub(super) fn waiter(&self, waiter: Waiter) -> String {
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

    pub(super) fn ender(&self, ender: Ender, step: Option<Waiter>) -> String {
        match ender {
            Ender::Waiter(waiter) => self.actor(waiter, step),
            Ender::Timer => "a timer".to_owned(),
            Ender::System => "the system".to_owned(),
            Ender::Unknown => OTHER_THREAD.to_owned(),
        }
    }

    /// Returns the name of the task that does something, or of what else does it. `step`: the task of the step. The thread of the
    /// simulation polls no task when that task's future is dropped and when its end wakes others.
    pub(super) fn actor(&self, waiter: Waiter, step: Option<Waiter>) -> String {
        match (waiter, step.and_then(|step| self.task(step))) {
            (Waiter::Thread(thread), _) if thread != self.known.thread => OTHER_THREAD.to_owned(),
            (Waiter::Thread(_), Some(task)) => format!("the end of {}", (self.known.name)(task)),
            (Waiter::Thread(_), None) => "the simulation".to_owned(),
            _ => self.waiter(waiter),
        }
    }

    pub(super) fn target(&self, wait: For) -> String {
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
    pub(super) fn side_of_socket(&self, wait: For) -> Option<&'static str> {
        match self.recording.kind(wait.kind).0? {
            Kind::Readable => Some("readable"),
            Kind::Writable => Some("writable"),
            _ => None,
        }
    }

    /// Returns `true` if a wait is one for a socket or a stream in memory. Its end is that of its waker.
    pub(super) fn is_of_stream(&self, wait: For) -> bool {
        let kind = self.recording.kind(wait.kind).0;
        let is_in_memory = matches!(kind, Some(Kind::MemoryRead | Kind::MemoryWrite));
        is_in_memory || self.side_of_socket(wait).is_some()
    }

    /// Returns the name of an object in an event that does not say which operation it is about: "RwLock", not "RwLock (read)", and
    /// not the end of a channel.
    pub(super) fn object(&self, object: usize) -> String {
        let kind = self.kinds.get(&object).copied().unwrap_or("object");
        let before = |mark: &str| kind.split_once(mark).map_or(kind, |(before, _)| before);
        if is_of_channel(kind) {
            self.named(&format!("{} channel", before("::")), object)
        } else {
            self.named(before(" ("), object)
        }
    }

    /// Returns the operation of this kind that a task begins on an object. 0: it is not known.
    pub(super) fn begun(&self, kind: u8, object: usize) -> String {
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

    pub(super) fn named(&self, kind: &str, object: usize) -> String {
        match self.recording.object(object) {
            Some(name) => format!("{kind} \"{name}\""),
            None => format!("{kind} #{}", self.number(Thing::Object(object))),
        }
    }

    pub(super) fn is_of_threads(&self, object: usize) -> bool {
        let kind = self.kinds.get(&object);
        kind.is_some_and(|kind| kind.starts_with("thread::"))
    }
}

/// Returns `true` for a wait whose object has no record but of its origin.
pub(super) const fn is_made(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::OneshotReceive | Kind::OneshotClosed | Kind::Cancelled
    )
}

pub(super) fn of_waiter(waiter: Waiter) -> String {
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
