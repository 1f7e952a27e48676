//! Wheels that wait for a runtime. They are never freed, because timers that outlive
//! their runtimes ask them; so they are used again.

use std::sync::atomic::{AtomicU64, Ordering};

use blitz_sync::thread::Mutex;

use super::Wheel;

static UNUSED: Mutex<Vec<&'static Wheel>> = Mutex::new(Vec::new());
static LAST_EPOCH: AtomicU64 = AtomicU64::new(super::CLOSED);

/// The wheels of one runtime, which go back to the others when it is dropped.
pub(in crate::timers) struct Pooled(Box<[&'static Wheel]>);

impl Pooled {
    /// `count` open wheels with a new epoch, for a runtime that began at `origin`.
    pub(in crate::timers) fn take(count: usize, origin: u64) -> Self {
        let epoch = LAST_EPOCH.fetch_add(1, Ordering::Relaxed) + 1;
        let wheels = (0..count).map(|_| {
            let unused = UNUSED.lock().pop();
            let wheel = unused.unwrap_or_else(Wheel::leak);
            wheel.open(epoch, origin);
            wheel
        });
        Self(wheels.collect())
    }

    /// The wheels.
    #[inline]
    pub(in crate::timers) fn wheels(&self) -> &[&'static Wheel] {
        &self.0
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        self.0.iter().for_each(|wheel| wheel.shut());
        UNUSED.lock().extend(&self.0);
    }
}
