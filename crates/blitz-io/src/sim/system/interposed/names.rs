//! Names of hosts.
//!
//! The C library makes the list of addresses, from the text of the simulated one, which needs no network. So
//! `freeaddrinfo` frees each list alike.

use std::ffi::{CStr, CString, c_char, c_int};
use std::mem::zeroed;
use std::net::IpAddr;

use super::{Real, with};
use crate::sim::network;

/// The address of a name.
enum Found {
    /// It is an address, or there is no name: the C library knows it.
    Numeric,
    Host(CString),
    Unknown,
}

fn find(name: Option<&CStr>, family: c_int) -> Found {
    let Some(name) = name else {
        return Found::Numeric;
    };
    let Ok(name) = name.to_str() else {
        return Found::Unknown;
    };
    // A zone may follow an address.
    let address = name.split('%').next().unwrap_or_default();
    if address.parse::<IpAddr>().is_ok() {
        return Found::Numeric;
    }
    let address = match name {
        "localhost" if family == libc::AF_INET6 => "::1".to_owned(),
        "localhost" => "127.0.0.1".to_owned(),
        _ => match network::address(name) {
            Some(address) => address.to_string(),
            None => return Found::Unknown,
        },
    };
    CString::new(address).map_or(Found::Unknown, Found::Host)
}

/// # Safety
///
/// As of the system's function.
pub(super) unsafe extern "C" fn getaddrinfo(
    name: *const c_char,
    service: *const c_char,
    hints: *const libc::addrinfo,
    result: *mut *mut libc::addrinfo,
) -> c_int {
    type GetAddrInfo = unsafe extern "C" fn(
        *const c_char,
        *const c_char,
        *const libc::addrinfo,
        *mut *mut libc::addrinfo,
    ) -> c_int;
    static REAL: Real<GetAddrInfo> = Real::new(c"getaddrinfo");
    let Some(real) = REAL.get() else {
        return libc::EAI_SYSTEM;
    };
    let found = with(|_| {
        // SAFETY: the caller passes null or a name that ends with a zero, and null or the address of hints.
        let (name, hints) = unsafe {
            let name = (!name.is_null()).then(|| CStr::from_ptr(name));
            (name, hints.as_ref())
        };
        Some(find(
            name,
            hints.map_or(libc::AF_UNSPEC, |hints| hints.ai_family),
        ))
    });
    let Some(found) = found else {
        // SAFETY: the caller's promise.
        return unsafe { real(name, service, hints, result) };
    };
    // SAFETY: all fields of hints may be zero. The caller passes null or the address of hints.
    let mut numeric = unsafe { hints.as_ref().map_or_else(|| zeroed(), |hints| *hints) };
    numeric.ai_flags |= libc::AI_NUMERICHOST;
    // The network is simulated: which addresses the system's interfaces have does not matter.
    numeric.ai_flags &= !libc::AI_ADDRCONFIG;
    let name = match &found {
        Found::Numeric => name,
        Found::Host(address) => address.as_ptr(),
        Found::Unknown => return libc::EAI_NONAME,
    };
    // SAFETY: the name is the caller's, or lives until the call returns; the rest is the caller's promise.
    unsafe { real(name, service, &raw const numeric, result) }
}
