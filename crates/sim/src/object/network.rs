//! Faults of the network. Each is a decision of its own at a call of the program.
//!
//! - *Late bytes*: what a stream sends is held back, and everything after it (`wires`).
//! - *A reset*: both ends of the connection read what has arrived, and then get the error once. Without
//!   faults, a program makes one by `SO_LINGER` with a time of zero.
//! - *A half-open connection*: nothing arrives any more, for ever (`silence`).
//! - *A cut*: a port cannot be reached for a while. Bytes from and to it come when the cut is over, as TCP
//!   repeats them; datagrams are lost; a new connection finds no way to the host. A cut may be of one direction
//!   only: what goes to the receiver's port, or what comes from the sender's.
//! - *Datagrams* are lost, late, or delivered twice.
//! - *`EAGAIN`* although the call could succeed. A program that waits for changes gets another one.

use crate::baton::{self, descriptors_changed, fault_of, has_deadline, has_fault};
use crate::c::{EAGAIN, ECONNRESET, EPIPE, Iovec, POLLIN, POLLOUT, Raw, nr};
use crate::descriptors::{Kind, Waits, report_again, until_ready};
use crate::outside;
use crate::progress;
use crate::shared::region::fault;
use crate::silence;
use crate::sockets::Name;
use crate::state::{NEVER, sim};
use crate::sys;
use crate::wires::Cut;

const MILLISECOND: u64 = 1_000_000;
/// Delays of bytes, the last two as spikes.
const DELAYS: [u64; 4] = [
    MILLISECOND,
    20 * MILLISECOND,
    1_000 * MILLISECOND,
    10_000 * MILLISECOND,
];
/// Delays of datagrams.
const LATE: [u64; 3] = [MILLISECOND, 50 * MILLISECOND, 1_000 * MILLISECOND];
/// Lengths of cuts.
const CUTS: [u64; 3] = [100 * MILLISECOND, 5_000 * MILLISECOND, 60_000 * MILLISECOND];
/// When this many bytes are under way, all of them arrive.
const LIMIT: usize = 1 << 20;
/// Faults that keep what a stream sends, or its end, from arriving now.
const DELAYING: [u32; 4] = [
    fault::LATENCY,
    fault::PARTITION,
    fault::HALF_OPEN,
    fault::ONE_WAY,
];

/// Returns `true` if one of the families is on.
unsafe fn is_on(families: &[u32]) -> bool {
    let faults = sim().region().faults;
    families.iter().any(|family| faults & 1 << family != 0)
}

/// One end of a connection of the Internet.
struct End {
    index: usize,
    local: u16,
    peer: u16,
    is_broken: bool,
    is_silent: bool,
}

unsafe fn end_of(fd: usize) -> Option<End> {
    let descriptors = &mut sim().descriptors;
    let index = descriptors.index(fd)?;
    let socket = descriptors.socket(fd)?;
    if !socket.is_internet() || !socket.is_stream() {
        return None;
    }
    Some(End {
        index,
        local: socket.local?.port,
        peer: socket.peer?.port,
        is_broken: socket.is_broken,
        is_silent: socket.silence.is_some(),
    })
}

unsafe fn gather(parts: &[Iovec]) -> Vec<u8> {
    let mut all = vec![];
    for part in parts.iter().filter(|part| part.len > 0) {
        all.extend_from_slice(core::slice::from_raw_parts(part.base, part.len));
    }
    all
}

/// Returns until when nothing from one port arrives at the other. A cut may begin.
unsafe fn cut_between(local: u16, peer: u16) -> u64 {
    let s = sim();
    let until = s.wires.cut_until(local, peer, s.now);
    if until > 0 {
        return until;
    }
    let which = fault_of(fault::PARTITION, CUTS.len());
    if which > 0 {
        let until = sim().now + CUTS[which - 1];
        return begin_cut(peer, until, (true, true));
    }
    let which = fault_of(fault::ONE_WAY, 2 * CUTS.len());
    if which > 0 {
        let until = sim().now + CUTS[(which - 1) % CUTS.len()];
        return if which <= CUTS.len() {
            begin_cut(peer, until, (false, true))
        } else {
            begin_cut(local, until, (true, false))
        };
    }
    0
}

/// Cuts a port off, in the direction from it, to it, or both. Returns until when.
unsafe fn begin_cut(port: u16, until: u64, (from, to): (bool, bool)) -> u64 {
    let s = sim();
    let cut = Cut {
        port,
        until,
        from,
        to,
    };
    s.wires.cut(cut, s.now);
    until
}

/// Holds back what a stream sends, if a fault wants that. `None`: it is written now. `never`: the call itself
/// says that it does not block.
pub unsafe fn hold(fd: usize, parts: &[Iovec], never: bool) -> Option<Raw> {
    if !is_on(&DELAYING) {
        return None;
    }
    let end = end_of(fd)?;
    let length: usize = parts.iter().map(|part| part.len).sum();
    if length == 0 || end.is_broken && !end.is_silent {
        return None;
    }
    if sim().wires.has_ended(end.index) {
        return Some(-(EPIPE as Raw));
    }
    let falls_silent = !end.is_silent && has_fault(fault::HALF_OPEN);
    if falls_silent {
        silence::begin(end.local, end.peer);
    }
    if end.is_silent || falls_silent {
        let waits = Waits {
            fd,
            events: POLLOUT,
            never,
        };
        return Some(silence::write(waits, length));
    }
    let cut = cut_between(end.local, end.peer);
    let delay = match fault_of(fault::LATENCY, DELAYS.len()) {
        0 => 0,
        which => DELAYS[which - 1],
    };
    let s = sim();
    let under_way = s.wires.under_way(end.index);
    if cut == 0 && delay == 0 && under_way.is_none() {
        return None;
    }
    if under_way.unwrap_or(0) + length > LIMIT {
        s.wires.hurry(end.index);
        descriptors_changed();
        return None;
    }
    let due = cut.max(s.now + delay);
    if !s.wires.hold(end.index, fd, due, gather(parts)) {
        return None;
    }
    has_deadline(s.wires.next());
    // Data that are due now need no advance of time.
    baton::advance(0);
    progress::change();
    Some(length as Raw)
}

/// Executes a transfer until it does not fail with `EAGAIN`, with the faults of connections.
pub unsafe fn transfer(waits: Waits, mut operation: impl FnMut() -> Raw) -> Raw {
    let has_faults = is_on(&[
        fault::RESET,
        fault::EAGAIN,
        fault::LATENCY,
        fault::PARTITION,
        fault::HALF_OPEN,
        fault::ONE_WAY,
    ]);
    until_ready(waits, || {
        if outside::would_wait(waits) {
            return -(EAGAIN as Raw);
        }
        let error = if has_faults {
            fails(waits)
        } else {
            tells_error_to_writer(waits)
        };
        if let Some(error) = error {
            return error;
        }
        let result = operation();
        if result == 0 && waits.events == POLLIN {
            return takes_error(waits.fd).unwrap_or(0);
        }
        result
    })
}

/// Returns the error of a transfer that fails.
unsafe fn fails(waits: Waits) -> Option<Raw> {
    if let Some(end) = end_of(waits.fd) {
        if !end.is_broken && !end.is_silent && has_fault(fault::RESET) {
            reset(waits.fd, &end);
        }
        if let Some(error) = tells_error_to_writer(waits) {
            return Some(error);
        }
        // The kernel's socket has no room either, so threads that wait for it are woken.
        if waits.events == POLLOUT && sim().wires.is_full(end.index) {
            return Some(-(EAGAIN as Raw));
        }
    }
    let description = sim().descriptors.get(waits.fd)?;
    let may_wait = matches!(description.kind, Kind::Stream | Kind::Socket(_));
    let returns = waits.never || description.nonblocking;
    if may_wait && returns && has_fault(fault::EAGAIN) {
        report_again(waits.fd);
        return Some(-(EAGAIN as Raw));
    }
    None
}

/// Resets a connection, for both ends.
unsafe fn reset(fd: usize, end: &End) {
    let s = sim();
    let mut both = vec![end.index];
    for (index, socket) in s.descriptors.sockets() {
        let is_other = socket.connects(end.peer, end.local);
        if is_other || index == end.index {
            (socket.is_broken, socket.untold) = (true, ECONNRESET);
        }
        if is_other {
            both.push(index);
        }
    }
    if both.len() == 1 {
        s.wires.reset_early(end.peer, end.local);
    }
    for index in both {
        s.wires.lose(index);
    }
    // Both directions.
    sys::call(nr::SHUTDOWN, [fd, 2, 0, 0, 0, 0]);
    descriptors_changed();
}

/// Returns the error of a write on a broken connection, once.
unsafe fn tells_error_to_writer(waits: Waits) -> Option<Raw> {
    if waits.events == POLLOUT {
        takes_error(waits.fd)
    } else {
        None
    }
}

/// Returns the error of a broken connection, once.
unsafe fn takes_error(fd: usize) -> Option<Raw> {
    let socket = sim().descriptors.socket(fd)?;
    let error = core::mem::take(&mut socket.untold);
    (error != 0).then_some(-(error as Raw))
}

/// Sends a datagram, or not, or later, or twice.
pub unsafe fn datagram(fd: usize, target: &Name, parts: &[Iovec], send: impl Fn() -> Raw) -> Raw {
    let families = [
        fault::LOSS,
        fault::REORDER,
        fault::DUPLICATE,
        fault::PARTITION,
        fault::ONE_WAY,
    ];
    if !is_on(&families) {
        return send();
    }
    let length: usize = parts.iter().map(|part| part.len).sum();
    let descriptors = &mut sim().descriptors;
    let index = descriptors.index(fd).unwrap_or(0);
    let socket = descriptors.socket(fd);
    let local = socket.and_then(|socket| socket.local);
    let local = local.map_or(0, |local| local.port);
    if cut_between(local, target.port()) > 0 || has_fault(fault::LOSS) {
        return length as Raw;
    }
    let which = fault_of(fault::REORDER, LATE.len());
    if which > 0 {
        let s = sim();
        let due = s.now + LATE[which - 1];
        let name = &target.bytes[..target.length];
        if s.wires.delay((index, fd), due, name, gather(parts)) {
            has_deadline(due);
            return length as Raw;
        }
    }
    let sent = send();
    if sent >= 0 && has_fault(fault::DUPLICATE) {
        send();
    }
    sent
}

/// The program closes a descriptor. The end of a connection comes after what is under way.
pub unsafe fn closing(fd: usize) {
    let s = sim();
    let Some(index) = s.descriptors.index(fd) else {
        return;
    };
    let is_last = s.descriptors.get(fd).is_some_and(|it| it.references == 1);
    if !is_last {
        return;
    }
    if s.wires.hurry_late(index) {
        descriptors_changed();
    }
    let socket = s.descriptors.socket(fd);
    if socket.is_some_and(|socket| socket.silence.is_none() && socket.ends_by_reset()) {
        if let Some(end) = end_of(fd) {
            reset(fd, &end);
            return;
        }
    }
    if ends_later(fd) {
        // The wire's descriptor would keep the registrations alive that this one takes along.
        for epoll in s.descriptors.epolls() {
            const REMOVE: usize = 2;
            sys::call(nr::EPOLL_CTL, [epoll, REMOVE, fd, 0, 0, 0]);
        }
    }
}

/// `shutdown` of the sending direction. `None`: it happens now.
pub unsafe fn shutdown(fd: usize, how: usize) -> Option<Raw> {
    if how == 0 || !ends_later(fd) {
        return None;
    }
    if how == 2 {
        sys::call(nr::SHUTDOWN, [fd, 0, 0, 0, 0, 0]);
        descriptors_changed();
    }
    Some(0)
}

/// Delays the end of a socket's stream, if data are in flight or the port is cut off.
unsafe fn ends_later(fd: usize) -> bool {
    if !is_on(&DELAYING) {
        return false;
    }
    let Some(end) = end_of(fd) else {
        return false;
    };
    let s = sim();
    let cut = if end.is_silent {
        NEVER
    } else {
        s.wires.cut_until(end.local, end.peer, s.now)
    };
    if cut > 0 && s.wires.under_way(end.index).is_none() {
        s.wires.hold(end.index, fd, cut, vec![]);
        has_deadline(cut);
    }
    s.wires.end(end.index);
    s.wires.under_way(end.index).is_some()
}
