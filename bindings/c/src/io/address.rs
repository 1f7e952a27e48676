//! Addresses of the internet, and their names.

use std::ffi::{c_char, c_int};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use crate::args::{arg, bytes_mut, check, list_mut, put, text};
use crate::error::{BLITZ_ESIZE, Outcome, UnknownHost, entry, invalid};
use crate::runtime;
use crate::wait::Limit;

/// An address of the internet with a port.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct blitz_address {
    /// 4 or 6.
    pub family: u8,
    /// 0.
    pub reserved: u8,
    /// The port, in the byte order of this machine.
    pub port: u16,
    /// The scope of an address of IPv6 (the index of an interface), else 0.
    pub scope: u32,
    /// The address in network byte order: 4 bytes and zeros, or 16 bytes.
    pub ip: [u8; 16],
}

impl blitz_address {
    pub(crate) fn from_rust(address: SocketAddr) -> Self {
        let mut ip = [0; 16];
        let (family, scope) = match address {
            SocketAddr::V4(address) => {
                ip[..4].copy_from_slice(&address.ip().octets());
                (4, 0)
            }
            SocketAddr::V6(address) => {
                ip = address.ip().octets();
                (6, address.scope_id())
            }
        };
        Self {
            family,
            reserved: 0,
            port: address.port(),
            scope,
            ip,
        }
    }

    pub(crate) fn to_rust(self) -> Outcome<SocketAddr> {
        let [a, b, c, d, ..] = self.ip;
        match self.family {
            4 => Ok(SocketAddr::new(
                IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
                self.port,
            )),
            6 => {
                let ip = Ipv6Addr::from(self.ip);
                Ok(SocketAddr::V6(SocketAddrV6::new(
                    ip, self.port, 0, self.scope,
                )))
            }
            _ => Err(invalid("no such family of addresses")),
        }
    }
}

/// Reads an address with a port, such as "127.0.0.1:80" or "[::1]:80". Looks up no names.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` for NULL or another text. Does not wait.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_address_parse(
    text: *const c_char,
    address: *mut blitz_address,
) -> c_int {
    entry(|| {
        let parsed: SocketAddr = self::text(text)?.parse().map_err(invalid)?;
        put(address, blitz_address::from_rust(parsed))
    })
}

/// Writes an address with its port to `buffer`, as a text with a final zero; 64 bytes are enough.
///
/// Returns `BLITZ_OK`, `BLITZ_EINVAL` for NULL or an unknown family, or `BLITZ_ESIZE` if the buffer
/// is too small. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_address_format(
    address: *const blitz_address,
    buffer: *mut c_char,
    len: usize,
) -> c_int {
    entry(|| {
        check(buffer)?;
        let address = arg(address)?.to_rust()?;
        let mut buffer = bytes_mut(buffer.cast(), len)?;
        write!(buffer, "{address}\0").map_err(|_| BLITZ_ESIZE)
    })
}

/// Looks up the addresses of a host with a port.
pub(crate) async fn lookup(host: &str) -> io::Result<Vec<SocketAddr>> {
    match blitz_io::net::lookup_host(host).await {
        Ok(found) => Ok(found.collect()),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            let text = format!("\"{host}\" is not a host and a port, as in \"localhost:80\"");
            Err(io::Error::new(io::ErrorKind::InvalidInput, text))
        }
        Err(error) if error.raw_os_error().is_some() => Err(error),
        Err(error) => Err(io::Error::other(UnknownHost(error))),
    }
}

/// Looks up the addresses of a host with a port, such as "example.org:443". Suspends the calling
/// fiber, or blocks the calling thread, until `deadline_ns` at most (nanoseconds of
/// `blitz_now_ns`, or `BLITZ_NEVER`).
///
/// `addresses` has room for `capacity` addresses; the first ones are written, in the order of the
/// system's resolver. `count` gets the number of all addresses. Returns `BLITZ_OK`,
/// `BLITZ_ETIMEDOUT`, `BLITZ_ECANCELED`, `BLITZ_EINVAL` for NULL or a text without a port,
/// `BLITZ_EHOST` if the resolver has no address of the host, or an error of the system.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_dns_lookup(
    host: *const c_char,
    deadline_ns: u64,
    addresses: *mut blitz_address,
    capacity: usize,
    count: *mut usize,
) -> c_int {
    entry(|| {
        check(count)?;
        let host = text(host)?;
        let addresses = list_mut(addresses, capacity)?;
        let found = runtime::inside(|| super::on(lookup(host), Limit::at(deadline_ns)))?;
        for (to, from) in addresses.iter_mut().zip(&found) {
            *to = blitz_address::from_rust(*from);
        }
        put(count, found.len())
    })
}
