//! Recordings that are made by hand.

use blitz_io_inspect::trace::{Category, Report};

/// A recording. Times are in milliseconds.
#[derive(Default)]
pub(crate) struct Made {
    pub(crate) rows: Vec<String>,
}

/// Places of kinds.
pub(crate) const MUTEX: u8 = 0;
pub(crate) const ONESHOT: u8 = 1;
pub(crate) const JOIN: u8 = 2;
pub(crate) const SLEEP: u8 = 3;
pub(crate) const SEMAPHORE: u8 = 4;
pub(crate) const FORK_JOIN: u8 = 5;
pub(crate) const IPC: u8 = 6;
pub(crate) const READABLE: u8 = 7;

/// Places of objects.
pub(crate) const SESSIONS: u64 = 1;
pub(crate) const ANSWER: u64 = 2;

/// Lines of the program, which are places of locations.
pub(crate) const MAIN: usize = 1;
pub(crate) const LOCK: usize = 2;
pub(crate) const NAP: usize = 3;
pub(crate) const ACTOR: usize = 4;
pub(crate) const JOB: usize = 5;

pub(crate) const fn task(id: u64) -> u64 {
    id << 1 | 1
}

pub(crate) const fn thread(number: u64) -> u64 {
    number << 1
}

impl Made {
    pub(crate) fn row(
        &mut self,
        code: u8,
        at: f64,
        kind: u8,
        target: u64,
        words: (u64, u64),
        place: usize,
    ) -> &mut Self {
        let nanos = (at * 1e6) as u64;
        let (waiter, other) = words;
        self.rows.push(format!(
            "[{code},{nanos},{kind},{target},{waiter},{other},{place}]"
        ));
        self
    }

    pub(crate) fn spawn(&mut self, at: f64, id: u64, parent: u64, place: usize) -> &mut Self {
        self.row(10, at, 0, 0, (task(id), parent), place)
    }

    pub(crate) fn spawn_job(&mut self, at: f64, id: u64, parent: u64, place: usize) -> &mut Self {
        self.row(10, at, 1, 0, (task(id), parent), place)
    }

    pub(crate) fn poll(&mut self, from: f64, id: u64) -> &mut Self {
        self.row(1, from, 0, 0, (task(id), thread(1)), 0)
    }

    pub(crate) fn end(&mut self, at: f64, id: u64) -> &mut Self {
        self.row(2, at, 0, 0, (task(id), thread(1)), 0)
    }

    /// The future of the task is about to be dropped.
    pub(crate) fn task_end(&mut self, at: f64, id: u64) -> &mut Self {
        self.row(36, at, 0, 0, (task(id), 0), 0)
    }

    pub(crate) fn wait(
        &mut self,
        at: f64,
        id: u64,
        kind: u8,
        object: u64,
        place: usize,
    ) -> &mut Self {
        self.row(3, at, kind, object, (task(id), 0), place)
    }

    pub(crate) fn wait_end(
        &mut self,
        at: f64,
        id: u64,
        kind: u8,
        object: u64,
        place: usize,
    ) -> &mut Self {
        self.row(7, at, kind, object, (task(id), 0), place)
    }

    pub(crate) fn wait_for(
        &mut self,
        at: f64,
        id: u64,
        kind: u8,
        number: u64,
        place: usize,
    ) -> &mut Self {
        self.row(4, at, kind, number, (task(id), 0), place)
    }

    pub(crate) fn wait_for_end(
        &mut self,
        at: f64,
        id: u64,
        kind: u8,
        number: u64,
        place: usize,
    ) -> &mut Self {
        self.row(8, at, kind, number, (task(id), 0), place)
    }

    pub(crate) fn wake(&mut self, at: f64, id: u64, by: u64) -> &mut Self {
        self.row(9, at, 0, 0, (task(id), by), 0)
    }

    pub(crate) fn timer(&mut self, at: f64, id: u64) -> &mut Self {
        self.row(9, at, 1, 0, (task(id), thread(1)), 0)
    }

    pub(crate) fn acquired(&mut self, at: f64, id: u64) -> &mut Self {
        self.row(11, at, MUTEX, SESSIONS, (task(id), 0), LOCK)
    }

    pub(crate) fn released(&mut self, at: f64, id: u64) -> &mut Self {
        self.row(12, at, 0, SESSIONS, (task(id), 0), 0)
    }

    /// A thread or task waits for the jobs with this number.
    pub(crate) fn awaits_job(&mut self, at: f64, waiter: u64, job: u64) -> &mut Self {
        self.row(6, at, FORK_JOIN, job, (waiter, 0), 0)
    }

    pub(crate) fn awaits_job_end(&mut self, at: f64, waiter: u64, job: u64) -> &mut Self {
        self.row(8, at, FORK_JOIN, job, (waiter, 0), 0)
    }

    pub(crate) fn job_queued(&mut self, at: f64, by: u64, job: u64) -> &mut Self {
        self.row(21, at, FORK_JOIN, job, (by, 0), 0)
    }

    pub(crate) fn job(&mut self, at: f64, by: u64, job: u64) -> &mut Self {
        self.row(22, at, FORK_JOIN, job, (by, 0), 0)
    }

    pub(crate) fn job_end(&mut self, at: f64, by: u64, job: u64) -> &mut Self {
        self.row(23, at, FORK_JOIN, job, (by, 0), 0)
    }

    /// The task sends the message at this position of the segment.
    pub(crate) fn sent(&mut self, at: f64, id: u64, segment: u64, position: u64) -> &mut Self {
        self.row(24, at, 0, position, (task(id), segment), 0)
    }

    pub(crate) fn received(&mut self, at: f64, id: u64, segment: u64, position: u64) -> &mut Self {
        self.row(25, at, 0, position, (task(id), segment), 0)
    }

    /// The task may wait for this process.
    pub(crate) fn peer(&mut self, at: f64, id: u64, segment: u64, pid: u64) -> &mut Self {
        self.row(26, at, 0, pid, (task(id), segment), 0)
    }

    /// The thread that polls the task, or is about to, was ready and did not run for so many milliseconds in all.
    pub(crate) fn delay(&mut self, at: f64, id: u64, total: f64) -> &mut Self {
        self.row(27, at, 0, 1, (task(id), (total * 1e6) as u64), 0)
    }

    /// That thread has had a processor for so many milliseconds in all. The delay follows.
    pub(crate) fn processor(&mut self, at: f64, id: u64, total: f64) -> &mut Self {
        self.row(33, at, 0, 1, (task(id), (total * 1e6) as u64), 0)
    }

    pub(crate) fn request(&mut self, at: f64, id: u64, request: u64) -> &mut Self {
        self.row(13, at, 0, 1, (task(id), request), 0)
    }

    pub(crate) fn request_end(&mut self, at: f64, id: u64, request: u64) -> &mut Self {
        self.row(14, at, 0, 0, (task(id), request), 0)
    }

    pub(crate) fn text(&self) -> String {
        format!(
            r#"{{"format":1,"pid":7,"command":"server","lost":0,
            "kinds":["Mutex","oneshot::Receiver","JoinHandle","Sleep","Semaphore","fork-join","ipc::Receiver","descriptor (read)"],
            "names":["GET /x","POST /y"],
            "locations":["main.rs:1","main.rs:2","main.rs:3","main.rs:4","main.rs:5"],
            "objects":["sessions",null],"threads":[{{"number":1,"name":"worker"}}],
            "events":[{}]}}"#,
            self.rows.join(",")
        )
    }
}

/// Task 1 takes the lock at 0, sleeps with it from 1 to 9 ms, and releases it at 10 ms. Task 2 waits for it from 2 ms on,
/// and is woken then.
pub(crate) fn a_task_waits_for_a_lock() -> Made {
    let mut made = Made::default();
    made.spawn(0.0, 1, thread(1), MAIN)
        .poll(0.0, 1)
        .request(0.0, 1, 1)
        .acquired(0.0, 1)
        .wait_for(1.0, 1, SLEEP, 0, NAP)
        .end(1.0, 1)
        .spawn(1.0, 2, thread(1), MAIN)
        .poll(1.0, 2)
        .request(1.0, 2, 2)
        .wait(2.0, 2, MUTEX, SESSIONS, LOCK)
        .end(2.0, 2)
        .timer(9.0, 1)
        .poll(9.0, 1)
        .wait_for_end(9.0, 1, SLEEP, 0, NAP)
        .released(10.0, 1)
        .wake(10.0, 2, task(1));
    made
}

/// Returns category, name, line and milliseconds of the causes of the slowest request.
pub(crate) fn causes(report: &Report) -> Vec<(Category, &str, &str, f64)> {
    let causes = report.slowest.causes.iter();
    causes
        .map(|share| {
            (
                share.category,
                &*share.what,
                &*share.at,
                share.nanos as f64 / 1e6,
            )
        })
        .collect()
}
