//! `timerfd`: an event counter of the kernel that simulated time increments.

use crate::baton;
use crate::c::{EINVAL, Itimerspec, O_NONBLOCK, Raw, nr};
use crate::descriptors::Kind;
use crate::state::{NEVER, sim};
use crate::sys;
use crate::time;

/// State of one timer.
pub struct Timer {
    clock: i32,
    pub deadline: u64,
    interval: u64,
}

impl Timer {
    /// Returns how many times it has expired since the last call.
    pub fn expire(&mut self, now: u64) -> u64 {
        if self.deadline > now {
            return 0;
        }
        if self.interval == 0 {
            self.deadline = NEVER;
            return 1;
        }
        let count = 1 + (now - self.deadline) / self.interval;
        self.deadline += count * self.interval;
        count
    }

    fn setting(&self, now: u64) -> Itimerspec {
        let left = match self.deadline {
            NEVER => 0,
            deadline => deadline.saturating_sub(now).max(1),
        };
        Itimerspec {
            interval: time::timespec(self.interval),
            value: time::timespec(left),
        }
    }
}

/// `timerfd_create`.
pub unsafe fn create(clock: usize, flags: usize) -> Raw {
    let fd = sys::call(nr::EVENTFD2, [0, flags | O_NONBLOCK, 0, 0, 0, 0]);
    if fd >= 0 {
        let timer = Timer {
            clock: clock as i32,
            deadline: NEVER,
            interval: 0,
        };
        sim()
            .descriptors
            .add(fd as usize, Kind::Timer(timer), flags & O_NONBLOCK != 0);
    }
    fd
}

/// `timerfd_settime`.
pub unsafe fn set(fd: usize, flags: usize, new: *const Itimerspec, old: *mut Itimerspec) -> Raw {
    baton::point("timerfd_settime", 0);
    let s = sim();
    let now = s.now;
    let Some(Kind::Timer(timer)) = s
        .descriptors
        .get(fd)
        .map(|description| &mut description.kind)
    else {
        return -(EINVAL as Raw);
    };
    if !old.is_null() {
        *old = timer.setting(now);
    }
    let value = time::nanoseconds(&(*new).value);
    timer.interval = time::nanoseconds(&(*new).interval);
    timer.deadline = match (value, flags & 1) {
        (0, _) => NEVER,
        (_, 0) => now.saturating_add(value),
        _ => time::deadline(timer.clock, &(*new).value),
    };
    let deadline = timer.deadline;
    // Expirations of the old setting are void.
    let mut count = 0u64;
    sys::call(nr::READ, [fd, &raw mut count as usize, 8, 0, 0, 0]);
    baton::has_deadline(deadline);
    baton::advance(0);
    baton::descriptors_changed();
    0
}

/// `timerfd_gettime`.
pub unsafe fn get(fd: usize, to: *mut Itimerspec) -> Raw {
    let s = sim();
    let now = s.now;
    match s.descriptors.get(fd).map(|description| &description.kind) {
        Some(Kind::Timer(timer)) => {
            *to = timer.setting(now);
            0
        }
        _ => -(EINVAL as Raw),
    }
}
