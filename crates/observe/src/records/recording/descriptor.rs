//! `Descriptor`: a socket, pipe or other source of the operating system for which a task waits, or a socket of a simulated
//! network.
//!
//! A record has the number only. The reader asks the system what the descriptor is and who its peer is,
//! so a wait costs no system call. A wait ends before its descriptor is closed, so a wait that is still
//! recorded after these questions was described rightly (`registry.rs` looks).

use super::Kind;
use crate::decisions;

/// A descriptor, the number of a simulated socket with [`SIMULATED`], or -1: none, for which no wait is recorded.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor(i64);

/// Marks the number of a simulated socket. Numbers in recordings have 47 bits.
const SIMULATED: u64 = 1 << 46;

impl Descriptor {
    /// No descriptor: it is not known, or the wait for it is part of one that has a record.
    pub const NONE: Self = Self(-1);

    /// Creates it from the system's number.
    #[inline]
    #[must_use]
    pub const fn new(number: i32) -> Self {
        Self(number as i64)
    }

    /// Creates it from the number of a socket of a simulated network: its thread describes the socket.
    #[inline]
    #[must_use]
    pub const fn simulated(number: u64) -> Self {
        Self((number & (SIMULATED - 1) | SIMULATED) as i64)
    }

    /// Returns the number of a descriptor that is one.
    pub(super) fn number(self) -> Option<u64> {
        self.0.try_into().ok()
    }
}

/// Describes a source, and the event for which a task waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// `socket`, `pipe`, `process`, `file`, `signal` or `descriptor`.
    pub kind: &'static str,
    /// The event, such as `read from 127.0.0.1:80`.
    pub what: String,
}

impl Source {
    fn new(kind: &'static str, what: String) -> Self {
        Self { kind, what }
    }
}

/// Describes sources. One for each report: it keeps the system's table of connections.
#[derive(Default)]
pub(super) struct Sources {
    #[cfg(target_os = "linux")]
    connections: Option<linux::Connections>,
}

impl Sources {
    /// Returns the source of a wait of this kind for this descriptor or signal, if the kind is that of such waits.
    pub(super) fn of(&mut self, kind: Kind, number: u64) -> Option<Source> {
        // Other kinds have numbers of tasks here, which may have that bit.
        let is_of_socket = matches!(kind, Kind::Readable | Kind::Writable);
        if is_of_socket && number & SIMULATED != 0 {
            let number = number - SIMULATED;
            let what = decisions::describe_socket(number, kind == Kind::Writable);
            let what = what.unwrap_or_else(|| "continue with a simulated socket".into());
            return Some(Source::new(crate::SOCKET, what));
        }
        let fd = number.try_into().ok()?;
        let on_file = |verb| Some(Source::new("file", format!("{verb} {}", file(fd))));
        let writes = match kind {
            Kind::Readable => false,
            Kind::Writable => true,
            Kind::FileRead => return on_file("read"),
            Kind::FileWrite => return on_file("write"),
            Kind::FileSync => return on_file("sync"),
            Kind::Signal => return Some(Source::new(kind.name(), signal_name(fd))),
            _ => return None,
        };
        Some(self.socket(fd, writes).unwrap_or_else(|| other(fd, writes)))
    }

    /// Describes a socket. Returns `None` if the descriptor is none.
    #[cfg(unix)]
    fn socket(&mut self, fd: i32, writes: bool) -> Option<Source> {
        let local = socket::local(fd)?;
        let what = if socket::accepts(fd) {
            format!("accept at {local}")
        } else if let Some(peer) = socket::peer(fd) {
            let verb = if writes { "write to" } else { "read from" };
            format!("{verb} {peer}")
        } else if writes {
            match self.connects_to(fd) {
                Some(remote) => format!("connect to {remote}"),
                None => format!("write from {local}"),
            }
        } else {
            format!("read at {local}")
        };
        Some(Source::new(crate::SOCKET, what))
    }

    #[cfg(not(unix))]
    fn socket(&mut self, _fd: i32, _writes: bool) -> Option<Source> {
        None
    }

    /// Returns the address to which a TCP socket tries to connect.
    #[cfg(target_os = "linux")]
    fn connects_to(&mut self, fd: i32) -> Option<String> {
        let connections = self.connections.get_or_insert_with(Default::default);
        connections.remote_of(fd).map(|remote| remote.to_string())
    }

    #[cfg(all(unix, not(target_os = "linux")))]
    fn connects_to(&mut self, _fd: i32) -> Option<String> {
        None
    }
}

/// Returns the path of an open file, or its descriptor.
pub(super) fn file(fd: i32) -> String {
    #[cfg(target_os = "linux")]
    if let Some(target) = linux::target(fd) {
        return target;
    }
    format!("descriptor {fd}")
}

/// Describes a descriptor that is no socket.
fn other(fd: i32, writes: bool) -> Source {
    let verb = if writes { "write to" } else { "read from" };
    #[cfg(target_os = "linux")]
    if let Some(source) = linux::of_proc(fd, verb) {
        return source;
    }
    Source::new("descriptor", format!("{verb} {fd}"))
}

/// Returns the name of a signal.
#[cfg(unix)]
fn signal_name(number: i32) -> String {
    let name = match number {
        libc::SIGALRM => "SIGALRM",
        libc::SIGCHLD => "SIGCHLD",
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGIO => "SIGIO",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGTERM => "SIGTERM",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGWINCH => "SIGWINCH",
        _ => return number.to_string(),
    };
    name.to_owned()
}

/// Returns the name of an event of the Windows console.
#[cfg(not(unix))]
fn signal_name(number: i32) -> String {
    let name = match number {
        0 => "Ctrl-C",
        1 => "Ctrl-Break",
        2 => "Ctrl-Close",
        5 => "Ctrl-Logoff",
        6 => "Ctrl-Shutdown",
        _ => return number.to_string(),
    };
    name.to_owned()
}

/// Questions about a socket, in the system's own types.
#[cfg(unix)]
mod socket {
    use std::ffi::OsStr;
    use std::mem::{offset_of, zeroed};
    use std::net::{Ipv4Addr, SocketAddrV4, SocketAddrV6};
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::ptr;

    use libc::{
        c_int, sockaddr, sockaddr_in, sockaddr_in6, sockaddr_storage, sockaddr_un, socklen_t,
    };

    type Ask = unsafe extern "C" fn(c_int, *mut sockaddr, *mut socklen_t) -> c_int;

    /// Returns the socket's own address, or `None` if it is no socket.
    pub(super) fn local(fd: c_int) -> Option<String> {
        ask(fd, libc::getsockname)
            .map(|address| address.unwrap_or_else(|| "an unnamed socket".into()))
    }

    /// Returns the peer's address, or `None` if the socket is not connected.
    pub(super) fn peer(fd: c_int) -> Option<String> {
        ask(fd, libc::getpeername).map(|address| match address {
            Some(address) => address,
            None => owner(fd).unwrap_or_else(|| "an unnamed socket".into()),
        })
    }

    /// Returns `true` if it is a socket that accepts connections.
    pub(super) fn accepts(fd: c_int) -> bool {
        let mut value: c_int = 0;
        option(fd, libc::SO_ACCEPTCONN, &mut value) && value != 0
    }

    /// Returns the process that made an unnamed peer.
    #[cfg(target_os = "linux")]
    fn owner(fd: c_int) -> Option<String> {
        // SAFETY: it is a structure of numbers.
        let mut peer: libc::ucred = unsafe { zeroed() };
        (option(fd, libc::SO_PEERCRED, &mut peer) && peer.pid > 0)
            .then(|| format!("an unnamed socket of process {}", peer.pid))
    }

    #[cfg(not(target_os = "linux"))]
    fn owner(_fd: c_int) -> Option<String> {
        None
    }

    fn option<T>(fd: c_int, name: c_int, value: &mut T) -> bool {
        let mut length = size_of::<T>() as socklen_t;
        // SAFETY: the system writes at most `length` bytes to the value, which is made of numbers.
        let result = unsafe {
            libc::getsockopt(
                fd,
                libc::SOL_SOCKET,
                name,
                ptr::from_mut(value).cast(),
                &mut length,
            )
        };
        result == 0
    }

    /// Returns the address; the inner `None` if it has no name.
    fn ask(fd: c_int, ask: Ask) -> Option<Option<String>> {
        // SAFETY: it is a structure of numbers.
        let mut storage: sockaddr_storage = unsafe { zeroed() };
        let mut length = size_of::<sockaddr_storage>() as socklen_t;
        // SAFETY: the system writes at most `length` bytes to the storage.
        let result = unsafe { ask(fd, ptr::from_mut(&mut storage).cast(), &mut length) };
        (result == 0).then(|| text(&storage, length as usize))
    }

    fn text(storage: &sockaddr_storage, length: usize) -> Option<String> {
        let storage = ptr::from_ref(storage);
        // SAFETY: the storage is large enough and aligned for each type of address, and all bytes of
        // it are written.
        unsafe {
            match c_int::from((*storage).ss_family) {
                libc::AF_INET => {
                    let address = &*storage.cast::<sockaddr_in>();
                    let ip = Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr));
                    Some(SocketAddrV4::new(ip, u16::from_be(address.sin_port)).to_string())
                }
                libc::AF_INET6 => {
                    let address = &*storage.cast::<sockaddr_in6>();
                    let port = u16::from_be(address.sin6_port);
                    let ip = address.sin6_addr.s6_addr.into();
                    Some(SocketAddrV6::new(ip, port, 0, address.sin6_scope_id).to_string())
                }
                libc::AF_UNIX => unix(&*storage.cast::<sockaddr_un>(), length),
                _ => None,
            }
        }
    }

    fn unix(address: &sockaddr_un, length: usize) -> Option<String> {
        let length = length.checked_sub(offset_of!(sockaddr_un, sun_path))?;
        let bytes: Vec<u8> = address.sun_path.iter().map(|&byte| byte as u8).collect();
        let bytes = bytes.get(..length)?;
        if let Some((0, name)) = bytes.split_first().map(|(&first, rest)| (first, rest)) {
            return (!name.is_empty()).then(|| format!("@{}", String::from_utf8_lossy(name)));
        }
        let end = bytes.iter().position(|&byte| byte == 0);
        let path = &bytes[..end.unwrap_or(bytes.len())];
        (!path.is_empty()).then(|| Path::new(OsStr::from_bytes(path)).display().to_string())
    }
}

/// Questions that files below `/proc` answer.
#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashMap;
    use std::fs;
    use std::net::{IpAddr, SocketAddr};

    use super::Source;

    /// Returns the path of the descriptor, or the system's own name for it, such as `pipe:[4711]`.
    pub(super) fn target(fd: i32) -> Option<String> {
        let target = fs::read_link(format!("/proc/self/fd/{fd}")).ok()?;
        Some(target.to_string_lossy().into_owned())
    }

    /// Describes a descriptor that is no socket.
    pub(super) fn of_proc(fd: i32, verb: &str) -> Option<Source> {
        let target = target(fd)?;
        if target == "anon_inode:[pidfd]" {
            return Some(Source::new("process", pid_of(fd)?));
        }
        let kind = if target.starts_with("pipe:") {
            "pipe"
        } else {
            "descriptor"
        };
        Some(Source::new(kind, format!("{verb} {fd}, {target}")))
    }

    /// Returns the number of the process of a pidfd.
    fn pid_of(fd: i32) -> Option<String> {
        let info = fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).ok()?;
        let line = info.lines().find_map(|line| line.strip_prefix("Pid:"))?;
        Some(format!("pid {}", line.trim()))
    }

    /// The remote addresses of TCP sockets, by inode.
    pub(super) struct Connections(HashMap<u64, SocketAddr>);

    impl Default for Connections {
        fn default() -> Self {
            let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
            let text = tables.map(|path| fs::read_to_string(path).unwrap_or_default());
            let lines = text.iter().flat_map(|text| text.lines());
            Self(lines.filter_map(of_line).collect())
        }
    }

    impl Connections {
        pub(super) fn remote_of(&self, fd: i32) -> Option<SocketAddr> {
            let target = target(fd)?;
            let inode = target.strip_prefix("socket:[")?.strip_suffix(']')?;
            self.0.get(&inode.parse().ok()?).copied()
        }
    }

    /// Returns the inode and the remote address of a line that has one.
    fn of_line(line: &str) -> Option<(u64, SocketAddr)> {
        let mut words = line.split_whitespace();
        let (ip, port) = words.nth(2)?.split_once(':')?;
        let inode = words.nth(6)?.parse().ok()?;
        let port = u16::from_str_radix(port, 16).ok()?;
        let remote = SocketAddr::new(ip_of(ip)?, port);
        (port != 0).then_some((inode, remote))
    }

    /// Parses an address of words of 32 bits in the processor's order, each in hexadecimal digits.
    fn ip_of(digits: &str) -> Option<IpAddr> {
        let mut bytes = Vec::new();
        for at in (0..digits.len()).step_by(8) {
            let word = u32::from_str_radix(digits.get(at..at + 8)?, 16).ok()?;
            bytes.extend(word.to_ne_bytes());
        }
        if let Ok(bytes) = <[u8; 4]>::try_from(&*bytes) {
            return Some(bytes.into());
        }
        <[u8; 16]>::try_from(&*bytes).ok().map(IpAddr::from)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn lines_of_the_table_of_connections() {
            let line = "   0: 0100007F:8AE6 090000C0:0050 02 00000001:00000000 01:00000064 00000000  \
                        1000        0 4711 2 0000000000000000 100 0 0 10 -1";
            if cfg!(target_endian = "little") {
                let expected = (4711, "192.0.0.9:80".parse().unwrap());
                assert_eq!(of_line(line), Some(expected));
            }
            assert_eq!(
                of_line("  sl  local_address rem_address   st tx_queue"),
                None
            );
            assert_eq!(of_line(""), None);
        }
    }
}
