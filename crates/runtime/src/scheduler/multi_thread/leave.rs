//! The end of a worker.
//!
//! Each worker that sees that the runtime is closed cancels all tasks: those that wait
//! are cancelled at once, those that run or are queued are told so. Then it runs what is
//! in its own queues, which cancels that, and what it can take from others, who may be
//! blocked. The last one takes what is left, and stays until there is no task: one may
//! still be polled by a thread that has given its seat away, or its token may be on its
//! way in a thread that has just woken it.

use std::time::{Duration, Instant};

use blitz_futex::atomic::Ordering;

use super::seat::Seat;
use super::worker::Worker;
use crate::task::{Notified, Ran};

/// How often the last worker looks whether the last task has ended.
const LOOK: Duration = Duration::from_millis(1);

impl Worker {
    /// Cancels the tasks. The thread does not come back to its seat.
    #[cold]
    pub(super) fn leave(&self) {
        self.leaving.set(true);
        // SAFETY: this thread has the seat, and with it the list.
        unsafe { self.shared.owned.close_own(self.number()) };
        self.shared.owned.close_and_cancel_all();
        self.empty(self.seat());
        self.empty_others();
        self.count_forced_yields();
        let before = self.shared.left.fetch_add(1, Ordering::AcqRel);
        if before + 1 == self.shared.workers() {
            self.leave_last();
        }
        self.seated.set(false);
    }

    /// Runs all that is in a seat's queues.
    fn empty(&self, seat: &Seat) {
        self.queue_again();
        while let Some(task) = self.next_of_own(seat) {
            self.cancel(task);
        }
    }

    /// Runs what is in the inject queue, and what others have in theirs: one of them may
    /// be blocked for long, by a task that waits for the end of another one.
    fn empty_others(&self) {
        self.own().robs.set(true);
        while let Some(task) = self.shared.next_injected().or_else(|| self.steal()) {
            self.cancel(task);
            self.empty(self.seat());
        }
    }

    /// Runs a task that has been cancelled; what it wakes is queued here.
    fn cancel(&self, task: Notified) {
        match task.run() {
            Ran::Done | Ran::Idle => {}
            Ran::Again(task) | Ran::Yielded(task) => self.push_back(self.seat(), task),
        }
    }

    fn leave_last(&self) {
        loop {
            // The others have left for good, so that their seats are this worker's too.
            self.shared.seats.iter().for_each(|seat| self.empty(seat));
            while let Some(task) = self.shared.next_injected() {
                self.cancel(task);
            }
            if self.shared.owned.is_empty() {
                break;
            }
            self.seat().driver.park(Some(Instant::now() + LOOK));
        }
        if let Some(wheels) = &self.shared.common().time {
            wheels.shutdown();
        }
    }
}
