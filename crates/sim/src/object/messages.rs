//! Data and messages on sockets, with the addresses of `sockets`.

use crate::baton::{descriptors_changed, point};
use crate::c::{EAGAIN, ECONNREFUSED, EMSGSIZE, ENOENT, Iovec, Msghdr, POLLIN, POLLOUT, Raw, nr};
use crate::descriptors::{Waits, is_simulated, read_part, write_all};
use crate::end;
use crate::network;
use crate::progress;
use crate::sockets::{Address, Name, bind_to, parse, require_local, write_address};
use crate::state::sim;
use crate::sys;

const DONTWAIT: usize = 0x40;
const LONGEST_DATAGRAM: usize = 65_507;

/// `sendto`.
pub unsafe fn send(a: [usize; 6], from: usize) -> Raw {
    let [fd, data, length, flags, address, address_length] = a;
    if !is_simulated(fd) {
        return sys::call(nr::SENDTO, a);
    }
    point("send", 0);
    let never = flags & DONTWAIT != 0;
    if let Some(name) = match datagram_target(fd, address, address_length, from) {
        Err(error) => return error,
        Ok(name) => name,
    } {
        let part = [Iovec {
            base: data as *mut u8,
            len: length,
        }];
        let sent = network::datagram(fd, &name, &part, || {
            sys::call(
                nr::SENDTO,
                [fd, data, length, flags, name.pointer(), name.length],
            )
        });
        descriptors_changed();
        return progress::transferred(delivered(sent, length));
    }
    let (address, address_length) = match sim().descriptors.socket(fd) {
        // A connected stream ignores the address.
        Some(socket) if socket.is_internet() => (0, 0),
        _ => (address, address_length),
    };
    if sim()
        .descriptors
        .socket(fd)
        .is_some_and(|socket| !socket.is_stream())
    {
        let waits = Waits {
            fd,
            events: POLLOUT,
            never,
        };
        return network::transfer(waits, || {
            sys::call(
                nr::SENDTO,
                [fd, data, length, flags, address, address_length],
            )
        });
    }
    let part = [Iovec {
        base: data as *mut u8,
        len: length,
    }];
    if let Some(result) = network::hold(fd, &part, never) {
        return result;
    }
    write_all(fd, length, never, |done, part| {
        sys::call(
            nr::SENDTO,
            [fd, data + done, part, flags, address, address_length],
        )
    })
}

/// A datagram that no socket takes is lost, which the sender does not see.
fn delivered(sent: Raw, length: usize) -> Raw {
    if length > LONGEST_DATAGRAM {
        return -(EMSGSIZE as Raw);
    }
    let lost = [EAGAIN, ECONNREFUSED, ENOENT]
        .iter()
        .any(|error| sent == -(*error as Raw));
    if lost { length as Raw } else { sent }
}

/// Returns where a datagram of the Internet goes. `None`: it is none.
unsafe fn datagram_target(
    fd: usize,
    address: usize,
    length: usize,
    from: usize,
) -> Result<Option<Name>, Raw> {
    let socket = match sim().descriptors.socket(fd) {
        Some(socket) if socket.is_datagram() => socket.clone(),
        _ => return Ok(None),
    };
    let target = if address != 0 {
        parse(&socket, address, length)?
    } else {
        socket.peer.ok_or(-(89 as Raw))?
    };
    require_local("send", &socket, &target, from);
    if socket.local.is_none() {
        bind_to(fd, Address::default());
    }
    Ok(Some(Name::new(socket.kind, target.port)))
}

/// `recvfrom`.
pub unsafe fn receive(a: [usize; 6]) -> Raw {
    let [fd, data, length, flags, address, address_length] = a;
    if !is_simulated(fd) {
        return sys::call(nr::RECVFROM, a);
    }
    point("recv", 0);
    let waits = Waits {
        fd,
        events: POLLIN,
        never: flags & DONTWAIT != 0,
    };
    let internet = sim()
        .descriptors
        .socket(fd)
        .is_some_and(|socket| socket.is_internet());
    if !internet {
        return read_part(waits, length, |length| {
            sys::call(
                nr::RECVFROM,
                [fd, data, length, flags, address, address_length],
            )
        });
    }
    let mut name = Name::empty();
    let mut size = 110u32;
    let (to, size_at) = (name.bytes.as_mut_ptr() as usize, &raw mut size as usize);
    let result = read_part(waits, length, |length| {
        *(size_at as *mut u32) = 110;
        sys::call(nr::RECVFROM, [fd, data, length, flags, to, size_at])
    });
    name.length = size as usize;
    if let (true, Some(socket)) = (result >= 0, sim().descriptors.socket(fd)) {
        let sender = match socket.peer {
            Some(peer) => peer,
            None => Address {
                ip: socket.loopback(),
                port: name.port(),
            },
        };
        write_address(socket, &sender, address, address_length);
    }
    result
}

/// `sendmsg`. Control data of the Internet (packet marks, segment sizes) has no effect.
pub unsafe fn send_message(fd: usize, message: *const Msghdr, flags: usize, from: usize) -> Raw {
    if !is_simulated(fd) {
        return sys::call(nr::SENDMSG, [fd, message as usize, flags, 0, 0, 0]);
    }
    point("sendmsg", 0);
    let given = &*message;
    let internet = sim()
        .descriptors
        .socket(fd)
        .is_some_and(|socket| socket.is_internet());
    let name = match datagram_target(fd, given.name as usize, given.namelen as usize, from) {
        Err(error) => return error,
        Ok(name) => name,
    };
    let (target, size) = match &name {
        Some(name) => (name.pointer() as *mut u8, name.length as u32),
        None if internet => (core::ptr::null_mut(), 0),
        None => (given.name, given.namelen),
    };
    let copy = Msghdr {
        name: target,
        namelen: size,
        iov: given.iov,
        iovlen: given.iovlen,
        control: if internet {
            core::ptr::null_mut()
        } else {
            given.control
        },
        controllen: if internet { 0 } else { given.controllen },
        flags: given.flags,
    };
    let pointer = &raw const copy as usize;
    if let Some(name) = &name {
        let parts = core::slice::from_raw_parts(given.iov, given.iovlen);
        let length = parts.iter().map(|part| part.len).sum();
        let sent = network::datagram(fd, name, parts, || {
            sys::call(nr::SENDMSG, [fd, pointer, flags, 0, 0, 0])
        });
        descriptors_changed();
        return progress::transferred(delivered(sent, length));
    }
    let waits = Waits {
        fd,
        events: POLLOUT,
        never: flags & DONTWAIT != 0,
    };
    if given.iovlen > 0 {
        let parts = core::slice::from_raw_parts(given.iov, given.iovlen);
        if let Some(result) = network::hold(fd, parts, flags & DONTWAIT != 0) {
            return result;
        }
    }
    network::transfer(waits, || {
        sys::call(nr::SENDMSG, [fd, pointer, flags, 0, 0, 0])
    })
}

/// `recvmsg`.
pub unsafe fn receive_message(fd: usize, message: *mut Msghdr, flags: usize, from: usize) -> Raw {
    if !is_simulated(fd) {
        return sys::call(nr::RECVMSG, [fd, message as usize, flags, 0, 0, 0]);
    }
    point("recvmsg", 0);
    let waits = Waits {
        fd,
        events: POLLIN,
        never: flags & DONTWAIT != 0,
    };
    let internet = sim()
        .descriptors
        .socket(fd)
        .is_some_and(|socket| socket.is_internet());
    if !internet {
        let result = network::transfer(waits, || {
            sys::call(nr::RECVMSG, [fd, message as usize, flags, 0, 0, 0])
        });
        // Size, level and type of the first control message: level 1, type 1 brings descriptors, of which
        // the table knows nothing.
        let given = &*message;
        let head = given.control.cast::<i32>();
        if result >= 0 && given.controllen >= 16 && *head.add(2) == 1 && *head.add(3) == 1 {
            end::escaped("descriptors in a message", from);
        }
        return result;
    }
    let given = &mut *message;
    let mut name = Name::empty();
    let mut copy = Msghdr {
        name: name.bytes.as_mut_ptr(),
        namelen: 110,
        iov: given.iov,
        iovlen: given.iovlen,
        control: core::ptr::null_mut(),
        controllen: 0,
        flags: 0,
    };
    let pointer = &raw mut copy as usize;
    let result = network::transfer(waits, || {
        sys::call(nr::RECVMSG, [fd, pointer, flags, 0, 0, 0])
    });
    if result >= 0 {
        name.length = (*(pointer as *const Msghdr)).namelen as usize;
        given.flags = (*(pointer as *const Msghdr)).flags;
        given.controllen = 0;
        if let Some(socket) = sim().descriptors.socket(fd) {
            let sender = socket.peer.unwrap_or(Address {
                ip: socket.loopback(),
                port: name.port(),
            });
            let length = &raw mut given.namelen;
            write_address(socket, &sender, given.name as usize, length as usize);
        }
    }
    result
}

/// Bytes from one message of a batch to the next, and the place of its length.
const IN_BATCH: usize = 64;
const LENGTH_AT: usize = 56;

/// Transfers messages until one fails or would block.
unsafe fn batch(a: [usize; 6], mut one: impl FnMut(usize, usize) -> Raw) -> Raw {
    let [_, messages, count, flags, ..] = a;
    for at in 0..count {
        let message = messages + at * IN_BATCH;
        // Only the first one may wait.
        let flags = if at == 0 { flags } else { flags | DONTWAIT };
        let result = one(message, flags);
        if result < 0 {
            return if at > 0 { at as Raw } else { result };
        }
        *((message + LENGTH_AT) as *mut u32) = result as u32;
    }
    count as Raw
}

/// `sendmmsg`.
pub unsafe fn send_messages(a: [usize; 6], from: usize) -> Raw {
    batch(a, |message, flags| {
        send_message(a[0], message as *const _, flags, from)
    })
}

/// `recvmmsg`. It waits for the first message only, and returns those that have arrived by then.
pub unsafe fn receive_messages(a: [usize; 6], from: usize) -> Raw {
    const WAIT_FOR_ONE: usize = 0x10000;
    batch(a, |message, flags| {
        receive_message(a[0], message as *mut _, flags & !WAIT_FOR_ONE, from)
    })
}
