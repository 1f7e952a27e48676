//! `futex`, for std, parking_lot, libstdc++ and everything that calls it.
//!
//! Waiters are in a queue of their word; a wake takes the first ones, as the kernel does. Checking the
//! word and entering the queue are one step, because no other thread runs between them.

use crate::baton::{self, block_in_queue, point};
use crate::c::{EAGAIN, EFAULT, ENOSYS, ETIMEDOUT, Raw, Timespec};
use crate::end;
use crate::shared::region::fault;
use crate::state::{Class, NEVER, sim};
use crate::time;

const WAIT: usize = 0;
const WAKE: usize = 1;
const REQUEUE: usize = 3;
const CMP_REQUEUE: usize = 4;
const WAKE_OP: usize = 5;
const WAIT_BITSET: usize = 9;
const WAKE_BITSET: usize = 10;
const CLOCK_REALTIME: usize = 256;
const ALL: u32 = u32::MAX;

/// The system call.
pub unsafe fn call(a: [usize; 6], from: usize) -> Raw {
    let [word, operation, value, timeout, other, last] = a;
    if word % 4 != 0 || word == 0 {
        return -(EFAULT as Raw);
    }
    match operation & 127 {
        WAIT => {
            let deadline = match timeout {
                0 => NEVER,
                at => sim()
                    .now
                    .saturating_add(time::nanoseconds(&*(at as *const Timespec))),
            };
            wait(word, value as u32, deadline, ALL)
        }
        WAIT_BITSET => {
            let clock = if operation & CLOCK_REALTIME != 0 {
                time::REALTIME
            } else {
                time::MONOTONIC
            };
            let deadline = match timeout {
                0 => NEVER,
                at => time::deadline(clock, &*(at as *const Timespec)),
            };
            wait(word, value as u32, deadline, last as u32)
        }
        WAKE => {
            point("futex wake", word);
            wake(word, value as i32, ALL)
        }
        WAKE_BITSET => {
            point("futex wake", word);
            wake(word, value as i32, last as u32)
        }
        REQUEUE | CMP_REQUEUE => {
            point("futex requeue", word);
            if operation & 127 == CMP_REQUEUE && *(word as *const u32) != last as u32 {
                return -(EAGAIN as Raw);
            }
            let woken = wake(word, value as i32, ALL);
            woken + move_waiters(word, other, timeout)
        }
        WAKE_OP => {
            point("futex wake", word);
            wake_op(a)
        }
        // Locks with priority inheritance. The kernel would hold the thread.
        6..=8 | 11..=13 => end::escaped("futex with priority inheritance", from),
        _ => -(ENOSYS as Raw),
    }
}

unsafe fn wait(word: usize, value: u32, deadline: u64, bits: u32) -> Raw {
    point("futex wait", word);
    if *(word as *const u32) != value {
        return -(EAGAIN as Raw);
    }
    if baton::has_fault(fault::SPURIOUS) {
        return 0;
    }
    sim().me().bits = bits;
    if block_in_queue((Class::Futex, word), deadline) {
        return -(ETIMEDOUT as Raw);
    }
    0
}

unsafe fn wake(word: usize, count: i32, bits: u32) -> Raw {
    let s = sim();
    let mut woken = 0;
    let Some(queue) = s.queues.get(&(Class::Futex, word)) else {
        return 0;
    };
    let waiting: Vec<u32> = queue.iter().copied().collect();
    for id in waiting {
        if woken >= count {
            break;
        }
        if s.threads[id as usize].bits & bits == 0 {
            continue;
        }
        s.leave_queue(id);
        baton::make_ready(id);
        woken += 1;
    }
    woken as Raw
}

unsafe fn move_waiters(from: usize, to: usize, count: usize) -> Raw {
    let s = sim();
    let mut moved = 0;
    while moved < count {
        let queue = s.queues.get(&(Class::Futex, from));
        let Some(id) = queue.and_then(|queue| queue.front().copied()) else {
            break;
        };
        s.leave_queue(id);
        s.threads[id as usize].key = (Class::Futex, to);
        s.queues
            .entry((Class::Futex, to))
            .or_default()
            .push_back(id);
        moved += 1;
    }
    moved as Raw
}

/// Changes the second word, wakes at the first, and at the second if its old value compares.
unsafe fn wake_op(a: [usize; 6]) -> Raw {
    let [word, _, count, second_count, second, code] = a;
    let code = code as u32;
    let sign = |bits: u32| ((bits << 20) as i32) >> 20;
    let (mut operand, compared) = (sign(code >> 12 & 0xfff), sign(code & 0xfff));
    if code >> 31 != 0 {
        operand = 1i32.wrapping_shl(operand as u32);
    }
    let target = second as *mut i32;
    let old = *target;
    *target = match code >> 28 & 7 {
        0 => operand,
        1 => old.wrapping_add(operand),
        2 => old | operand,
        3 => old & !operand,
        4 => old ^ operand,
        _ => return -(ENOSYS as Raw),
    };
    let also = match code >> 24 & 15 {
        0 => old == compared,
        1 => old != compared,
        2 => old < compared,
        3 => old <= compared,
        4 => old > compared,
        5 => old >= compared,
        _ => return -(ENOSYS as Raw),
    };
    let mut woken = wake(word, count as i32, ALL);
    if also {
        woken += wake(second, second_count as i32, ALL);
    }
    woken
}
