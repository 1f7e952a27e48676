//! Functions of the C library that the program has of its own, in front of those of the library.
//!
//! # Symbols
//!
//! Each name is a jump to a function of Rust, written in assembly because that has two properties that `#[no_mangle]` lacks:
//!
//! * The symbol is *weak*. Two versions of this package in one program, or a sanitizer's runtime with the same names, are no
//!   error of the linker: the first one wins. Simulations of the other version then have the system itself.
//! * The compiler does not know the symbol, so a shared library does not export it. A program does, as the C library has
//!   the same name: that is how other shared libraries and `dlsym` find it.
//!
//! All names are in one object, which the linker takes if the program runs simulations: [`link`] refers to it.
//!
//! # Errors
//!
//! As in the C library: `errno`, or the function's result.

mod blocked;
mod clocks;
mod entropy;
mod names;
mod real;
mod sleeps;
mod sockets;
mod threads;
mod waits;

use std::arch::global_asm;
use std::ffi::{c_int, c_long};
use std::hint::black_box;
use std::time::Duration;

use super::{HAS_DRAWN, Run, with};
use real::Real;

#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    () => {
        "jmp {function}"
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    () => {
        "b {function}"
    };
}

macro_rules! interpose {
    ($($name:literal => $function:path;)*) => {
        $(global_asm!(
            concat!(".pushsection .text.", $name, ",\"ax\",@progbits"),
            concat!(".weak ", $name),
            concat!(".type ", $name, ",@function"),
            concat!($name, ":"),
            jump!(),
            concat!(".size ", $name, ", . - ", $name),
            ".popsection",
            function = sym $function,
        );)*
    };
}

interpose! {
    "clock_gettime" => clocks::clock_gettime;
    "gettimeofday" => clocks::gettimeofday;
    "time" => clocks::time;
    "getrandom" => entropy::getrandom;
    "getentropy" => entropy::getentropy;
    "getaddrinfo" => names::getaddrinfo;
    "nanosleep" => sleeps::nanosleep;
    "clock_nanosleep" => sleeps::clock_nanosleep;
    "usleep" => sleeps::usleep;
    "sleep" => sleeps::sleep;
    "socket" => sockets::socket;
    "connect" => sockets::connect;
    "bind" => sockets::bind;
    "listen" => sockets::listen;
    "sendto" => sockets::sendto;
    "sendmsg" => sockets::sendmsg;
    "sendmmsg" => sockets::sendmmsg;
    "pthread_create" => threads::pthread_create;
    "syscall" => waits::syscall;
}

/// Refers to the object with the symbols, and finds the functions of the C library, which takes locks, before code of a
/// simulation or the handler of a signal needs one.
pub(super) fn link() {
    let _ = black_box(libc::clock_gettime as *const ());
    clocks::find();
    waits::find();
}

/// Returns the time of the system's monotonic clock.
pub(super) fn real_monotonic() -> Option<Duration> {
    clocks::real(libc::CLOCK_MONOTONIC)
}

/// Sets `errno`, and returns the result of a function that has failed.
fn fail(error: c_int) -> c_int {
    // SAFETY: the address of this thread's `errno` is valid.
    unsafe { *libc::__errno_location() = error };
    -1
}

fn duration(time: &libc::timespec) -> Option<Duration> {
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanos = u32::try_from(time.tv_nsec).ok()?;
    (nanos < 1_000_000_000).then(|| Duration::new(seconds, nanos))
}

fn timespec(time: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: time.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: c_long::from(time.subsec_nanos() as i32),
    }
}
