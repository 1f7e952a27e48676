//! Descriptors: which ones are simulated, and reads and writes of them.
//!
//! Pipes, event counters, `epoll` and sockets stay the kernel's: both ends are in this process, so what
//! they hold depends on the order of the program's calls only. The kernel never blocks in them: each is
//! created with `O_NONBLOCK`, and a table here knows what the program asked for. Where the program would
//! block, its thread waits at a point until another call has made the descriptor ready.
//!
//! A descriptor that is not in the table is a file, or was inherited: it goes to the kernel.

use std::collections::{BTreeMap, BTreeSet};

use crate::baton::{self, descriptors_changed, point};
use crate::c::{EAGAIN, Iovec, O_NONBLOCK, POLLIN, POLLOUT, Pollfd, Raw, nr};
use crate::files;
use crate::network;
use crate::outside;
use crate::progress;
use crate::random;
use crate::shared::region::fault;
use crate::sockets::Socket;
use crate::state::{NEVER, sim};
use crate::sys;
use crate::timers::Timer;
use crate::tree;

/// Kind of a descriptor.
pub enum Kind {
    /// One end of a pipe, or a Unix socket of a pair.
    Stream,
    /// An event counter.
    Event,
    /// An `epoll` instance.
    Epoll,
    /// A timer.
    Timer(Timer),
    /// A socket.
    Socket(Box<Socket>),
    /// The system's source of random numbers.
    Random,
    /// A file in memory.
    File(tree::Id),
    /// A folder with files in memory.
    Folder(files::Listing),
}

/// What several descriptors may refer to.
pub struct Description {
    pub kind: Kind,
    /// The program set `O_NONBLOCK`.
    pub nonblocking: bool,
    /// Nanoseconds after which a blocking read fails, and a write.
    pub timeouts: [u64; 2],
    pub references: u32,
    /// Registrations that report a change once.
    pub edges: Vec<Edge>,
}

/// A registration with an `epoll` instance that reports a change once.
pub struct Edge {
    pub epoll: usize,
    pub fd: usize,
    pub event: Event,
    /// It has reported that there is room, and there was never too little since.
    pub has_told_room: bool,
}

/// What `epoll_ctl` takes.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct Event {
    pub events: u32,
    pub data: u64,
}

/// The table.
#[derive(Default)]
pub struct Descriptors {
    /// Index into `all`, by descriptor.
    table: Vec<Option<usize>>,
    all: BTreeMap<usize, Description>,
    next: usize,
    /// Next port that a socket gets that asks for none.
    pub port: u16,
    /// Files in memory whose last descriptor was closed.
    pub closed: Vec<tree::Id>,
    /// Names of Unix sockets that the program has bound.
    pub bound: BTreeSet<Vec<u8>>,
}

impl Descriptors {
    /// Adds a new descriptor.
    pub fn add(&mut self, fd: usize, kind: Kind, nonblocking: bool) {
        self.forget(fd);
        let index = self.next;
        self.next += 1;
        let description = Description {
            kind,
            nonblocking,
            timeouts: [NEVER; 2],
            references: 0,
            edges: vec![],
        };
        self.all.insert(index, description);
        self.refer(fd, index);
    }

    fn refer(&mut self, fd: usize, index: usize) {
        if self.table.len() <= fd {
            self.table.resize(fd + 1, None);
        }
        self.table[fd] = Some(index);
        if let Some(description) = self.all.get_mut(&index) {
            description.references += 1;
        }
    }

    /// Returns what a descriptor refers to, if it is simulated.
    pub fn get(&mut self, fd: usize) -> Option<&mut Description> {
        let index = (*self.table.get(fd)?)?;
        self.all.get_mut(&index)
    }

    /// Returns the socket of a descriptor.
    pub fn socket(&mut self, fd: usize) -> Option<&mut Socket> {
        match &mut self.get(fd)?.kind {
            Kind::Socket(socket) => Some(socket),
            _ => None,
        }
    }

    /// Returns the number of the object of a descriptor. No later object has the same number.
    pub fn index(&self, fd: usize) -> Option<usize> {
        *self.table.get(fd)?
    }

    /// Returns a descriptor that refers to the number.
    pub fn fd_of(&self, index: usize) -> Option<usize> {
        self.table.iter().position(|at| *at == Some(index))
    }

    /// Returns the sockets with their numbers.
    pub fn sockets(&mut self) -> impl Iterator<Item = (usize, &mut Socket)> {
        let all = self.all.iter_mut();
        all.filter_map(|(index, description)| match &mut description.kind {
            Kind::Socket(socket) => Some((*index, &mut **socket)),
            _ => None,
        })
    }

    /// Returns the descriptions of the connections of TCP.
    pub fn connections(&mut self) -> impl Iterator<Item = &mut Description> {
        let is_connection = |description: &&mut Description| match &description.kind {
            Kind::Socket(socket) => socket.is_internet() && socket.is_stream(),
            _ => false,
        };
        self.all.values_mut().filter(is_connection)
    }

    /// Returns the descriptors of all `epoll` instances.
    pub fn epolls(&self) -> Vec<usize> {
        let is_epoll = |index: usize| matches!(self.all[&index].kind, Kind::Epoll);
        let fds = self.table.iter().enumerate();
        fds.filter_map(|(fd, index)| index.filter(|index| is_epoll(*index)).map(|_| fd))
            .collect()
    }

    /// Makes `new` refer to what `old` refers to.
    pub fn duplicate(&mut self, old: usize, new: usize) {
        self.forget(new);
        if let Some(Some(index)) = self.table.get(old).copied() {
            self.refer(new, index);
        }
    }

    /// Removes a descriptor.
    pub fn forget(&mut self, fd: usize) {
        let Some(index) = self.table.get_mut(fd).and_then(Option::take) else {
            return;
        };
        if let Some(description) = self.all.get_mut(&index) {
            description.references -= 1;
            if description.references == 0 {
                if let Kind::File(id) = description.kind {
                    self.closed.push(id);
                }
                self.all.remove(&index);
            }
        }
    }

    /// Returns the earliest deadline of the timers.
    pub fn next_timer(&self) -> u64 {
        let timers = self
            .all
            .values()
            .filter_map(|description| match &description.kind {
                Kind::Timer(timer) => Some(timer.deadline),
                _ => None,
            });
        timers.min().unwrap_or(NEVER)
    }

    /// Makes expired timers readable. Returns `true` if there was one.
    pub fn expire(&mut self, now: u64) -> bool {
        let mut any = false;
        for (index, description) in &mut self.all {
            let Kind::Timer(timer) = &mut description.kind else {
                continue;
            };
            let count = timer.expire(now);
            if let (true, Some(fd)) = (
                count > 0,
                self.table.iter().position(|at| *at == Some(*index)),
            ) {
                // SAFETY: the counter below a timer is an event counter, and `count` is eight bytes long.
                unsafe { sys::call(nr::WRITE, [fd, &raw const count as usize, 8, 0, 0, 0]) };
                any = true;
            }
        }
        any
    }
}

/// Returns `true` if the program's calls on this descriptor are simulated.
pub unsafe fn is_simulated(fd: usize) -> bool {
    sim().descriptors.get(fd).is_some()
}

/// How a call on a descriptor waits.
#[derive(Clone, Copy)]
pub struct Waits {
    pub fd: usize,
    pub events: i16,
    /// The call itself says that it does not block.
    pub never: bool,
}

/// Executes `operation` until it does not fail with `EAGAIN`, and waits between two attempts.
pub unsafe fn until_ready(waits: Waits, mut operation: impl FnMut() -> Raw) -> Raw {
    let start = sim().now;
    loop {
        let result = operation();
        if result != -(EAGAIN as Raw) {
            progress::transferred(result);
            descriptors_changed();
            return result;
        }
        if waits.events == POLLOUT {
            found_no_room(waits.fd);
        }
        let Some(description) = sim().descriptors.get(waits.fd) else {
            return result;
        };
        if waits.never || description.nonblocking {
            return result;
        }
        let timeout = description.timeouts[usize::from(waits.events == POLLOUT)];
        let set = vec![Pollfd {
            fd: waits.fd as i32,
            events: waits.events,
            revents: 0,
        }];
        match baton::interruptible_block_for(set, start.saturating_add(timeout)) {
            Err(interrupted) => return interrupted,
            Ok(true) => return result,
            Ok(false) => {}
        }
    }
}

/// A write found no room, or too little: room that comes is a change to report.
pub unsafe fn found_no_room(fd: usize) {
    if let Some(description) = sim().descriptors.get(fd) {
        for edge in &mut description.edges {
            edge.has_told_room = false;
        }
    }
}

/// Returns `true` if a fault may shorten transfers of this descriptor.
unsafe fn may_be_short(fd: usize) -> bool {
    match sim()
        .descriptors
        .get(fd)
        .map(|description| &description.kind)
    {
        Some(Kind::Stream) => true,
        Some(Kind::Socket(socket)) => socket.is_stream(),
        _ => false,
    }
}

/// Returns the number of bytes that a transfer of `length` bytes asks for.
unsafe fn shortened(fd: usize, length: usize) -> usize {
    if length > 1 && may_be_short(fd) && baton::has_fault(fault::SHORT) {
        length / 2
    } else {
        length
    }
}

/// A transfer that a fault has shortened leaves something to do. A program that
/// waits for changes only takes a short transfer for the last one, so this reports another change, as if
/// more had just come.
pub unsafe fn report_again(fd: usize) {
    if let Some(description) = sim().descriptors.get(fd) {
        for edge in &mut description.edges {
            edge.has_told_room = false;
            let event = &raw const edge.event as usize;
            // 3: modify. The kernel looks at the readiness anew.
            sys::call(nr::EPOLL_CTL, [edge.epoll, 3, edge.fd, event, 0, 0]);
        }
        // Some threads may wait for such an epoll.
        descriptors_changed();
    }
}

/// Reads once, perhaps less than the program asks for.
pub unsafe fn read_part(waits: Waits, length: usize, operation: impl Fn(usize) -> Raw) -> Raw {
    let part = shortened(waits.fd, length);
    let result = network::transfer(waits, || operation(part));
    if part < length && result > 0 {
        report_again(waits.fd);
    }
    result
}

/// `read`.
pub unsafe fn read(fd: usize, to: usize, length: usize) -> Raw {
    match sim()
        .descriptors
        .get(fd)
        .map(|description| &description.kind)
    {
        None => return progress::transferred(sys::call(nr::READ, [fd, to, length, 0, 0, 0])),
        Some(Kind::Random) => {
            random::fill(to as *mut u8, length);
            return length as Raw;
        }
        Some(_) => {}
    }
    point("read", 0);
    let waits = Waits {
        fd,
        events: POLLIN,
        never: false,
    };
    read_part(waits, length, |length| {
        sys::call(nr::READ, [fd, to, length, 0, 0, 0])
    })
}

/// `readv`.
pub unsafe fn readv(fd: usize, parts: usize, count: usize) -> Raw {
    if !is_simulated(fd) {
        return sys::call(nr::READV, [fd, parts, count, 0, 0, 0]);
    }
    point("readv", 0);
    let waits = Waits {
        fd,
        events: POLLIN,
        never: false,
    };
    network::transfer(waits, || sys::call(nr::READV, [fd, parts, count, 0, 0, 0]))
}

/// `write`.
pub unsafe fn write(fd: usize, from: usize, length: usize) -> Raw {
    if !is_simulated(fd) {
        return progress::transferred(sys::call(nr::WRITE, [fd, from, length, 0, 0, 0]));
    }
    point("write", 0);
    let all = [Iovec {
        base: from as *mut u8,
        len: length,
    }];
    if let Some(result) = network::hold(fd, &all, false) {
        return result;
    }
    write_all(fd, length, false, |done, length| {
        sys::call(nr::WRITE, [fd, from + done, length, 0, 0, 0])
    })
}

/// Writes like a blocking descriptor: until all is written. A descriptor that does not block writes
/// once.
pub unsafe fn write_all(
    fd: usize,
    length: usize,
    never: bool,
    mut operation: impl FnMut(usize, usize) -> Raw,
) -> Raw {
    let waits = Waits {
        fd,
        events: POLLOUT,
        never,
    };
    let mut done = 0;
    loop {
        let part = outside::part(fd, shortened(fd, length - done));
        let result = network::transfer(waits, || operation(done, part));
        if result < 0 {
            return if done > 0 { done as Raw } else { result };
        }
        if part < length - done {
            report_again(fd);
        }
        if (result as usize) < part {
            found_no_room(fd);
        }
        done += result as usize;
        let once = match sim().descriptors.get(fd) {
            Some(description) => description.nonblocking || never,
            None => true,
        };
        if once || done >= length || result == 0 {
            return done as Raw;
        }
    }
}

/// `writev`.
pub unsafe fn writev(fd: usize, parts: usize, count: usize) -> Raw {
    if !is_simulated(fd) {
        return sys::call(nr::WRITEV, [fd, parts, count, 0, 0, 0]);
    }
    point("writev", 0);
    let all = core::slice::from_raw_parts(parts as *const Iovec, count);
    if let Some(result) = network::hold(fd, all, false) {
        return result;
    }
    let length = all.iter().map(|part| part.len).sum();
    write_all(fd, length, false, |done, length| {
        let rest = slice(all, done, length);
        sys::call(
            nr::WRITEV,
            [fd, rest.as_ptr() as usize, rest.len(), 0, 0, 0],
        )
    })
}

/// Returns the parts that hold `length` bytes from `start`.
fn slice(parts: &[Iovec], start: usize, length: usize) -> Vec<Iovec> {
    let (mut skipped, mut left, mut found) = (start, length, vec![]);
    for part in parts {
        let skip = skipped.min(part.len);
        skipped -= skip;
        let take = left.min(part.len - skip);
        left -= take;
        if take > 0 {
            found.push(Iovec {
                base: part.base.wrapping_add(skip),
                len: take,
            });
        }
    }
    found
}

/// `close`.
pub unsafe fn close(fd: usize) -> Raw {
    let simulated = is_simulated(fd);
    if simulated {
        point("close", 0);
        network::closing(fd);
        sim().descriptors.forget(fd);
    }
    let result = sys::call(nr::CLOSE, [fd, 0, 0, 0, 0, 0]);
    files::closed();
    if simulated {
        descriptors_changed();
    }
    result
}

/// `dup`, `dup2`, `dup3` and the commands of `fcntl`: the kernel has made `new` from `old`.
pub unsafe fn duplicated(old: usize, new: Raw) -> Raw {
    if new >= 0 && new as usize != old {
        sim().descriptors.duplicate(old, new as usize);
        files::closed();
        descriptors_changed();
    }
    new
}

/// Returns the flag of all pipes. A child that has an end expects it to block.
fn hidden_flag() -> usize {
    if outside::is_allowed() { 0 } else { O_NONBLOCK }
}

/// `pipe2`.
pub unsafe fn pipe(fds: *mut i32, flags: usize) -> Raw {
    let result = sys::call(nr::PIPE2, [fds as usize, flags | hidden_flag(), 0, 0, 0, 0]);
    if result == 0 {
        for at in 0..2 {
            let fd = *fds.add(at) as usize;
            sim()
                .descriptors
                .add(fd, Kind::Stream, flags & O_NONBLOCK != 0);
        }
    }
    result
}

/// `eventfd2`.
pub unsafe fn event(value: usize, flags: usize) -> Raw {
    let fd = sys::call(nr::EVENTFD2, [value, flags | O_NONBLOCK, 0, 0, 0, 0]);
    if fd >= 0 {
        sim()
            .descriptors
            .add(fd as usize, Kind::Event, flags & O_NONBLOCK != 0);
    }
    fd
}

/// `fcntl` on a simulated descriptor. `None`: it is the kernel's matter.
pub unsafe fn fcntl(fd: usize, command: usize, argument: usize) -> Option<Raw> {
    const DUPLICATE: usize = 0;
    const GET: usize = 3;
    const SET: usize = 4;
    const DUPLICATE_CLOEXEC: usize = 1030;
    let raw = || sys::call(nr::FCNTL, [fd, command, argument, 0, 0, 0]);
    let description = sim().descriptors.get(fd)?;
    match command {
        DUPLICATE | DUPLICATE_CLOEXEC => Some(duplicated(fd, raw())),
        GET => {
            let flags = raw();
            let hide = !description.nonblocking && flags >= 0;
            Some(if hide {
                flags & !(O_NONBLOCK as Raw)
            } else {
                flags
            })
        }
        SET => {
            description.nonblocking = argument & O_NONBLOCK != 0;
            let hidden = match description.kind {
                Kind::Stream => hidden_flag(),
                _ => O_NONBLOCK,
            };
            Some(sys::call(
                nr::FCNTL,
                [fd, command, argument | hidden, 0, 0, 0],
            ))
        }
        _ => None,
    }
}

/// `ioctl` on a simulated descriptor. `None`: it is the kernel's matter.
pub unsafe fn ioctl(fd: usize, command: usize, argument: usize) -> Option<Raw> {
    const FIONBIO: usize = 0x5421;
    let description = sim().descriptors.get(fd)?;
    if command & 0xffff_ffff != FIONBIO {
        return None;
    }
    description.nonblocking = *(argument as *const i32) != 0;
    Some(0)
}
