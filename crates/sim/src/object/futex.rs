//! `futex`, for std, parking_lot, libstdc++ and everything that calls it.
//!
//! Waiters are in a queue of their word; a wake takes the first ones, as the kernel does. Checking the
//! word and entering the queue are one step, because no other thread runs between them. A thread in
//! `futex_waitv` is in the queue of each of its words, and leaves all when one is woken.

use crate::baton::{self, block_in_queue, point};
use crate::c::{EAGAIN, EFAULT, EINVAL, ENOSYS, ETIMEDOUT, Raw, Timespec};
use crate::end;
use crate::mappings;
use crate::shared::region::fault;
use crate::state::{Class, NEVER, State, sim};
use crate::time;

const WAIT: usize = 0;
const WAKE: usize = 1;
const REQUEUE: usize = 3;
const CMP_REQUEUE: usize = 4;
const WAKE_OP: usize = 5;
const WAIT_BITSET: usize = 9;
const WAKE_BITSET: usize = 10;
const PRIVATE: usize = 128;
const CLOCK_REALTIME: usize = 256;
const ALL: u32 = u32::MAX;

/// A futex.
#[derive(Clone, Copy)]
struct Word {
    /// Its address in the call.
    at: usize,
    /// What stands for it in keys: its address, or its place in a file.
    key: usize,
}

impl Word {
    unsafe fn new(at: usize, is_private: bool) -> Word {
        let key = if is_private { at } else { mappings::key_of(at) };
        Word { at, key }
    }

    unsafe fn value(self) -> u32 {
        *(self.at as *const u32)
    }
}

/// The system call.
pub unsafe fn call(a: [usize; 6], from: usize) -> Raw {
    let [at, operation, value, timeout, other, last] = a;
    if at % 4 != 0 || at == 0 {
        return -(EFAULT as Raw);
    }
    let is_private = operation & PRIVATE != 0;
    let word = Word::new(at, is_private);
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
            wait(word, value as u32, until(clock, timeout), last as u32)
        }
        WAKE => {
            point("futex wake", word.key);
            wake(word.key, value as i32, ALL)
        }
        WAKE_BITSET => {
            point("futex wake", word.key);
            wake(word.key, value as i32, last as u32)
        }
        REQUEUE | CMP_REQUEUE => {
            point("futex requeue", word.key);
            if operation & 127 == CMP_REQUEUE && word.value() != last as u32 {
                return -(EAGAIN as Raw);
            }
            let woken = wake(word.key, value as i32, ALL);
            woken + move_waiters(word.key, Word::new(other, is_private).key, timeout)
        }
        WAKE_OP => {
            point("futex wake", word.key);
            wake_op(a, word.key, Word::new(other, is_private).key)
        }
        // Locks with priority inheritance. The kernel would hold the thread.
        6..=8 | 11..=13 => end::escaped("futex with priority inheritance", from),
        _ => -(ENOSYS as Raw),
    }
}

/// Returns `true` if threads wait under simulation for the word of a call.
pub unsafe fn has_waiters(a: [usize; 6]) -> bool {
    let word = Word::new(a[0], a[1] & PRIVATE != 0);
    sim().queues.contains_key(&(Class::Futex, word.key))
}

unsafe fn until(clock: i32, timeout: usize) -> u64 {
    match timeout {
        0 => NEVER,
        at => time::deadline(clock, &*(at as *const Timespec)),
    }
}

unsafe fn wait(word: Word, value: u32, deadline: u64, bits: u32) -> Raw {
    point("futex wait", word.key);
    if word.value() != value {
        return -(EAGAIN as Raw);
    }
    if baton::has_fault(fault::SPURIOUS) {
        return 0;
    }
    sim().me().bits = bits;
    if block_in_queue((Class::Futex, word.key), deadline) {
        return -(ETIMEDOUT as Raw);
    }
    0
}

/// One of the words of `futex_waitv`.
#[repr(C)]
struct WaitFor {
    value: u64,
    at: usize,
    flags: u32,
    reserved: u32,
}

/// `futex_waitv`: returns the index of a word that was woken.
pub unsafe fn wait_for_any(a: [usize; 6]) -> Raw {
    const MOST: usize = 128;
    /// A word of four bytes.
    const SIZE: u32 = 2;
    let [list, count, flags, timeout, clock, _] = a;
    if list == 0 || !(1..=MOST).contains(&count) || flags != 0 {
        return -(EINVAL as Raw);
    }
    let list = core::slice::from_raw_parts(list as *const WaitFor, count);
    let mut words = vec![];
    for one in list {
        if one.flags & !(PRIVATE as u32) != SIZE || one.at % 4 != 0 || one.reserved != 0 {
            return -(EINVAL as Raw);
        }
        words.push(Word::new(one.at, one.flags & PRIVATE as u32 != 0));
    }
    point("futex_waitv", words[0].key);
    let changed = |(word, one): (&Word, &WaitFor)| word.value() != one.value as u32;
    if words.iter().zip(list).any(changed) {
        return -(EAGAIN as Raw);
    }
    if baton::has_fault(fault::SPURIOUS) {
        return 0;
    }
    let deadline = until(clock as i32, timeout);
    if deadline <= sim().now {
        return -(ETIMEDOUT as Raw);
    }
    let s = sim();
    let current = s.current;
    s.me().bits = ALL;
    for word in &words[1..] {
        let key = (Class::Futex, word.key);
        s.me().other_keys.push(key);
        s.queues.entry(key).or_default().push_back(current);
    }
    if block_in_queue((Class::Futex, words[0].key), deadline) {
        return -(ETIMEDOUT as Raw);
    }
    let woken = sim().me().woken_at;
    let index = words.iter().position(|word| word.key == woken);
    index.unwrap_or(0) as Raw
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
        let thread = &mut s.threads[id as usize];
        // A thread may wait twice for the same word.
        if thread.bits & bits == 0 || thread.state == State::Ready {
            continue;
        }
        thread.woken_at = word;
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
unsafe fn wake_op(a: [usize; 6], first: usize, other: usize) -> Raw {
    let [_, _, count, second_count, second, code] = a;
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
    let mut woken = wake(first, count as i32, ALL);
    if also {
        woken += wake(other, second_count as i32, ALL);
    }
    woken
}
