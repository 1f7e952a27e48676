//! Half-open connections: from some moment on, nothing that one end sends arrives at the other one, and neither
//! gets an error. A machine that loses its power leaves such a connection, and so does a router that forgets it.
//!
//! - A read gets the bytes that had arrived before. Then it waits.
//! - A write succeeds as long as TCP's buffer has room. Its bytes go nowhere.
//! - The other end sees no `close` and no `shutdown`: a wire without an end keeps the kernel's socket open
//!   (`network::closing`).
//!
//! # The end
//!
//! There is none for an end that has sent nothing since, and does not look after the connection. TCP gives up in
//! two cases, and the next call on the socket then fails with `ETIMEDOUT`, once:
//!
//! 1. The end has sent bytes, and 15 repetitions were in vain, or the time of `TCP_USER_TIMEOUT` is over.
//! 2. It has sent none, and `SO_KEEPALIVE` is on: the connection was idle for `TCP_KEEPIDLE`, and
//!    `TCP_KEEPCNT` probes have brought no answer.
//!
//! The end that gives up closes the reading direction of its kernel socket, so that waits for it end. The other
//! end could notice this by a write into its kernel socket only, and makes none any more.
//!
//! # A full buffer
//!
//! The kernel's socket has room, and says so to `poll` and `epoll`. So a write that does not block takes
//! some simulated time before it fails with `EAGAIN`. A program that tries again and again is no livelock then:
//! the moment comes at which TCP gives up.

use crate::baton::{self, has_deadline};
use crate::c::{EAGAIN, EBADF, EPIPE, ETIMEDOUT, Raw, nr};
use crate::descriptors::{Waits, found_no_room};
use crate::progress;
use crate::sockets::Socket;
use crate::state::{Class, NEVER, sim};
use crate::sys;

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLISECOND;
/// The time of 15 repetitions, each after twice the time of the one before, up to two minutes.
const REPETITIONS: u64 = 924_600 * MILLISECOND;
/// Bytes for which TCP's buffer has room.
const ROOM: usize = 1 << 20;
/// The time between two looks for room.
const PAUSE: u64 = 200 * MILLISECOND;

/// One end of a half-open connection.
#[derive(Clone)]
pub struct Silence {
    since: u64,
    /// When the first byte was sent that does not arrive.
    unheard_since: Option<u64>,
    /// Bytes in TCP's buffer.
    bytes: usize,
}

impl Silence {
    pub fn new(now: u64) -> Silence {
        Silence {
            since: now,
            unheard_since: None,
            bytes: 0,
        }
    }
}

/// Returns when TCP gives a connection up.
fn gives_up_at(socket: &Socket) -> u64 {
    const KEEP_ALIVE: (i32, i32) = (1, 9);
    let Some(silence) = socket.silence.as_ref().filter(|_| !socket.is_broken) else {
        return NEVER;
    };
    let option = |name: i32, usual: u64| match socket.number((6, name)) {
        0 => usual,
        number => number,
    };
    if let Some(at) = silence.unheard_since {
        const USER_TIMEOUT: (i32, i32) = (6, 18);
        return at.saturating_add(match socket.number(USER_TIMEOUT) {
            0 => REPETITIONS,
            milliseconds => milliseconds * MILLISECOND,
        });
    }
    if socket.number(KEEP_ALIVE) == 0 {
        return NEVER;
    }
    // TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT.
    let (idle, interval, count) = (option(4, 7_200), option(5, 75), option(6, 9));
    silence
        .since
        .saturating_add((idle + interval * count) * SECOND)
}

/// Returns the time at which TCP gives a connection up next.
pub unsafe fn next() -> u64 {
    let s = sim();
    if !s.wires.has_silent() {
        return NEVER;
    }
    let sockets = s.descriptors.sockets();
    let times = sockets.map(|(_, socket)| gives_up_at(socket));
    times.min().unwrap_or(NEVER)
}

/// The time at which TCP gives up may have changed.
pub unsafe fn changed() {
    has_deadline(next());
}

/// Gives up connections whose time is over. Returns `true` if there was one.
pub unsafe fn expire(now: u64) -> bool {
    let s = sim();
    if !s.wires.has_silent() {
        return false;
    }
    let mut given_up = vec![];
    for (index, socket) in s.descriptors.sockets() {
        if gives_up_at(socket) <= now {
            (socket.is_broken, socket.untold) = (true, ETIMEDOUT);
            given_up.push(index);
        }
    }
    for index in &given_up {
        if let Some(fd) = s.descriptors.fd_of(*index) {
            // The reading direction.
            sys::call(nr::SHUTDOWN, [fd, 0, 0, 0, 0, 0]);
        }
    }
    !given_up.is_empty()
}

/// The connection of two ports falls silent.
pub unsafe fn begin(local: u16, peer: u16) {
    let s = sim();
    let mut ends = vec![];
    for (index, socket) in s.descriptors.sockets() {
        if socket.connects(local, peer) || socket.connects(peer, local) {
            socket.silence = Some(Silence::new(s.now));
            ends.push(index);
        }
    }
    s.wires.silence((local, peer), &ends);
    changed();
}

/// Takes bytes that never arrive, as many as there is room for. Returns their number, or the error.
pub unsafe fn write(waits: Waits, length: usize) -> Raw {
    let (start, mut done) = (sim().now, 0);
    loop {
        let result = take(waits.fd, length - done);
        if result < 0 {
            return if done > 0 { done as Raw } else { result };
        }
        done += result as usize;
        let Some(description) = sim().descriptors.get(waits.fd) else {
            return -(EBADF as Raw);
        };
        let never = waits.never || description.nonblocking;
        let limit = start.saturating_add(description.timeouts[1]);
        if done == length || never && done > 0 {
            return done as Raw;
        }
        found_no_room(waits.fd);
        let next = sim().now.saturating_add(PAUSE);
        baton::block((Class::Sleep, 0), next.min(limit));
        if never || sim().now >= limit {
            return if done > 0 {
                done as Raw
            } else {
                -(EAGAIN as Raw)
            };
        }
    }
}

/// Takes bytes that have room. Returns their number, or the error of a connection that TCP has given up.
unsafe fn take(fd: usize, length: usize) -> Raw {
    let s = sim();
    let Some(socket) = s.descriptors.socket(fd) else {
        return -(EBADF as Raw);
    };
    if socket.is_broken {
        return -(match core::mem::take(&mut socket.untold) {
            0 => EPIPE,
            error => error,
        } as Raw);
    }
    let Some(silence) = &mut socket.silence else {
        return -(EBADF as Raw);
    };
    let part = length.min(ROOM - silence.bytes);
    if part > 0 {
        silence.bytes += part;
        silence.unheard_since.get_or_insert(s.now);
        changed();
        progress::change();
    }
    part as Raw
}
