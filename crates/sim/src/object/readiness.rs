//! `poll`, `select` and `epoll`: looks without waiting, and waits at points between two looks.
//!
//! # Room of a connection
//!
//! A TCP connection is a Unix socket of the kernel (`sockets`), which tells an edge-triggered `epoll` that there
//! is room after each read of its peer. TCP tells so only if there was too little before. So a report of room is
//! passed on only if it is the first after a registration, or after a write that found too little room
//! ([`Edge::has_told_room`]). No report is lost: a program waits for room only after such a write, or after
//! a registration.

use crate::baton::{self, block, block_for, point};
use crate::c::{EINTR, O_NONBLOCK, POLLIN, POLLOUT, Pollfd, Raw, Timespec, nr};
use crate::descriptors::{Edge, Event, Kind};
use crate::shared::region::fault;
use crate::state::{Class, NEVER, sim};
use crate::sys;
use crate::time;

/// Reports a change once.
const EDGE: u32 = 1 << 31;
/// Reports once, and then nothing until the program asks again.
const ONE_SHOT: u32 = 1 << 30;

/// Returns the simulated time after a number of milliseconds; negative ones never end.
pub unsafe fn after_milliseconds(milliseconds: i32) -> u64 {
    if milliseconds < 0 {
        return NEVER;
    }
    sim().now.saturating_add(milliseconds as u64 * 1_000_000)
}

/// Returns the simulated time after a duration; none never ends.
pub unsafe fn after(duration: *const Timespec) -> u64 {
    if duration.is_null() {
        return NEVER;
    }
    sim().now.saturating_add(time::nanoseconds(&*duration))
}

/// `poll` and `ppoll`. No signal comes from outside, so the mask of the latter has no effect.
pub unsafe fn poll(set: *mut Pollfd, count: usize, deadline: u64) -> Raw {
    point("poll", 0);
    loop {
        let ready = sys::call(nr::POLL, [set as usize, count, 0, 0, 0, 0]);
        if ready != 0 || deadline <= sim().now {
            return ready;
        }
        if baton::has_fault(fault::EINTR) {
            return -(EINTR as Raw);
        }
        if count == 0 {
            block((Class::Sleep, 0), deadline);
            return 0;
        }
        block_for(core::slice::from_raw_parts(set, count).to_vec(), deadline);
    }
}

/// `select` and `pselect6`: one call of `poll` on the members of the three sets.
pub unsafe fn select(count: usize, sets: [*mut u64; 3], deadline: u64) -> Raw {
    // As the kernel has it: a hang-up is readable, an error is both.
    const EVENTS: [i16; 3] = [POLLIN, POLLOUT, 2];
    const READY: [i16; 3] = [POLLIN | 0x18, POLLOUT | 8, 2];
    let has = |set: *mut u64, fd: usize| !set.is_null() && *set.add(fd / 64) >> (fd % 64) & 1 != 0;
    let mut all = vec![];
    for fd in 0..count {
        let mut events = 0;
        for (set, event) in sets.iter().zip(EVENTS) {
            if has(*set, fd) {
                events |= event;
            }
        }
        if events != 0 {
            all.push(Pollfd {
                fd: fd as i32,
                events,
                revents: 0,
            });
        }
    }
    let result = poll(all.as_mut_ptr(), all.len(), deadline);
    if result < 0 {
        return result;
    }
    let mut ready = 0;
    for (set, events) in sets.iter().zip(READY) {
        for entry in &all {
            let fd = entry.fd as usize;
            if !has(*set, fd) {
                continue;
            }
            if entry.revents & events != 0 {
                ready += 1;
            } else {
                *set.add(fd / 64) &= !(1 << (fd % 64));
            }
        }
    }
    ready
}

/// `epoll_create1`.
pub unsafe fn epoll_create(flags: usize) -> Raw {
    let fd = sys::call(nr::EPOLL_CREATE1, [flags, 0, 0, 0, 0, 0]);
    if fd >= 0 {
        sim()
            .descriptors
            .add(fd as usize, Kind::Epoll, flags & O_NONBLOCK != 0);
    }
    fd
}

/// `epoll_ctl`.
pub unsafe fn epoll_ctl(a: [usize; 6]) -> Raw {
    point("epoll_ctl", 0);
    let result = sys::call(nr::EPOLL_CTL, a);
    let [epoll, operation, fd, event, ..] = a;
    if result == 0 {
        if let Some(description) = sim().descriptors.get(fd) {
            description
                .edges
                .retain(|edge| (edge.epoll, edge.fd) != (epoll, fd));
            const REMOVE: usize = 2;
            let once = |event: &Event| event.events & (EDGE | ONE_SHOT) == EDGE;
            if let (false, event) = (operation == REMOVE, event as *const Event) {
                if once(&*event) {
                    description.edges.push(Edge {
                        epoll,
                        fd,
                        event: *event,
                        has_told_room: false,
                    });
                }
            }
        }
    }
    baton::descriptors_changed();
    result
}

/// `epoll_wait` and its relatives.
pub unsafe fn epoll_wait(fd: usize, events: usize, count: usize, deadline: u64) -> Raw {
    point("epoll_wait", 0);
    loop {
        let mut ready = sys::call(nr::EPOLL_WAIT, [fd, events, count, 0, 0, 0]);
        if ready > 0 {
            ready = without_old_room(fd, events as *mut Event, ready as usize) as Raw;
            if ready == 0 {
                // What else is ready could not be reported before.
                continue;
            }
        }
        if ready != 0 || deadline <= sim().now {
            baton::descriptors_changed();
            return ready;
        }
        if baton::has_fault(fault::EINTR) {
            return -(EINTR as Raw);
        }
        block_for(
            vec![Pollfd {
                fd: fd as i32,
                events: POLLIN,
                revents: 0,
            }],
            deadline,
        );
    }
}

/// Removes reports of room that TCP would not make. Returns the number of events that are left.
unsafe fn without_old_room(epoll: usize, events: *mut Event, count: usize) -> usize {
    const ROOM: u32 = POLLOUT as u32;
    const ERROR_OR_HANG_UP: u32 = 0x18;
    let mut left = 0;
    for at in 0..count {
        let mut event = *events.add(at);
        if event.events & ROOM != 0 && event.events & ERROR_OR_HANG_UP == 0 {
            if let Some(edge) = edge_of(epoll, event.data) {
                if edge.has_told_room {
                    event.events &= !ROOM;
                }
                edge.has_told_room = true;
            }
        }
        if event.events != 0 {
            *events.add(left) = event;
            left += 1;
        }
    }
    left
}

/// Returns the registration of a connection by its data. `None`: it is of something else, or several have
/// the same data.
unsafe fn edge_of(epoll: usize, data: u64) -> Option<&'static mut Edge> {
    let connections = sim().descriptors.connections();
    let edges = connections.flat_map(|description| &mut description.edges);
    let mut found = edges.filter(|edge| edge.epoll == epoll && edge.event.data == data);
    let edge = found.next();
    if found.next().is_some() { None } else { edge }
}
