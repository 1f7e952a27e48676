//! What the operations on simulated files are made of, which a program does not know.

use blitz_io_observe::Mode;

use super::{DISK, OTHER_OPERATION, Writer};
use crate::snapshot::Waiter;
use crate::trace::recording::{Ender, Event, For, Target, What};

impl Writer<'_> {
    /// Returns `true` if an event is between a task and its operation on a file, or about a part of a file. The operation and
    /// the wait for it are events of their own.
    pub(super) fn is_within_files(&self, event: &Event, ended: Option<Waiter>) -> bool {
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
    pub(super) fn is_done_later(&self, later: &[&Event], event: &Event) -> bool {
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
    pub(super) fn is_of_files(&self, object: usize) -> bool {
        let created = object
            .checked_sub(1)
            .and_then(|at| self.recording.created.get(at));
        let created = created.and_then(Option::as_deref);
        created.is_some_and(self.known.is_of_files)
    }

    /// Returns the target of a wait in the code of files; `None` for all other waits.
    pub(super) fn part_of_files(&self, wait: For) -> Option<&'static str> {
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
}
