//! Names a scenario that hangs, and ends the run.
//!
//! A primitive that loses a wake-up leaves its threads asleep for ever, and nothing in
//! this process could wake them. So the process ends.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::exit::Exit;

/// The interval between checks: long enough to disturb no measurement.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The sample that is running, and since when.
type Running = Option<(String, Instant)>;

/// Watches the sample that is running.
pub struct Watchdog(Arc<Mutex<Running>>);

impl Watchdog {
    /// Starts to watch for samples that take longer than `limit`. No sample is running
    /// yet.
    pub fn new(limit: Duration) -> Watchdog {
        let running = Arc::new(Mutex::new(None));
        let watched = running.clone();
        thread::spawn(move || {
            loop {
                thread::sleep(LOOK_EVERY);
                look(&watched, limit);
            }
        });
        Watchdog(running)
    }

    /// Notes that a sample begins; the one before it has ended.
    pub fn starts(&self, who: String) {
        self.set(Some((who, Instant::now())));
    }

    /// Notes that no sample is running.
    pub fn rests(&self) {
        self.set(None);
    }

    fn set(&self, running: Running) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = running;
    }
}

fn look(running: &Mutex<Running>, limit: Duration) {
    let running = running.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((who, since)) = &*running
        && since.elapsed() > limit
    {
        Exit::Failed(format!(
            "{who} has not finished within {} seconds: a wake-up was lost, or the machine was suspended",
            limit.as_secs()
        ))
        .report();
        std::process::exit(1);
    }
}
