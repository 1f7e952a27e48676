//! The declarations of C that this object needs, for x86-64 Linux. It is compiled without packages, so
//! the package `libc` is not at hand.

#![allow(missing_docs)]

use core::ffi::{c_char, c_int, c_long, c_void};

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Timespec {
    pub sec: i64,
    pub nsec: i64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Timeval {
    pub sec: i64,
    pub usec: i64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Itimerspec {
    pub interval: Timespec,
    pub value: Timespec,
}

#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct Pollfd {
    pub fd: c_int,
    pub events: i16,
    pub revents: i16,
}

#[repr(C)]
pub struct Iovec {
    pub base: *mut u8,
    pub len: usize,
}

#[repr(C)]
pub struct Msghdr {
    pub name: *mut u8,
    pub namelen: u32,
    pub iov: *mut Iovec,
    pub iovlen: usize,
    pub control: *mut u8,
    pub controllen: usize,
    pub flags: c_int,
}

#[repr(C)]
pub struct DlInfo {
    pub file: *const c_char,
    pub base: *mut c_void,
    pub symbol: *const c_char,
    pub address: *mut c_void,
}

#[repr(C)]
pub struct Phdr {
    pub kind: u32,
    pub flags: u32,
    pub offset: u64,
    pub vaddr: u64,
    pub paddr: u64,
    pub filesz: u64,
    pub memsz: u64,
    pub align: u64,
}

#[repr(C)]
pub struct DlPhdrInfo {
    pub addr: u64,
    pub name: *const c_char,
    pub phdr: *const Phdr,
    pub phnum: u16,
}

#[repr(C)]
pub struct Sigaction {
    pub handler: usize,
    pub mask: [u64; 16],
    pub flags: c_int,
    pub restorer: usize,
}

pub type Start = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
pub type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

// SAFETY: the declarations are those of the headers of glibc.
unsafe extern "C" {
    pub fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    pub fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    pub fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
    pub fn dl_iterate_phdr(
        f: unsafe extern "C" fn(*mut DlPhdrInfo, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
    pub fn __errno_location() -> *mut c_int;
    pub fn backtrace(buffer: *mut *mut c_void, size: c_int) -> c_int;
    pub fn getenv(name: *const c_char) -> *mut c_char;
    pub fn unsetenv(name: *const c_char) -> c_int;
    pub fn pthread_self() -> usize;
    pub fn pthread_key_create(key: *mut u32, f: unsafe extern "C" fn(*mut c_void)) -> c_int;
    pub fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
    pub fn pthread_attr_getdetachstate(attr: *const c_void, state: *mut c_int) -> c_int;
    pub fn pthread_condattr_getclock(attr: *const c_void, clock: *mut c_int) -> c_int;
    pub fn getauxval(kind: u64) -> u64;
    pub fn mallopt(parameter: c_int, value: c_int) -> c_int;
}

pub const RTLD_NEXT: *mut c_void = usize::MAX as *mut c_void;

pub const ENOENT: c_int = 2;
pub const ESRCH: c_int = 3;
pub const EINTR: c_int = 4;
pub const EAGAIN: c_int = 11;
pub const EBUSY: c_int = 16;
pub const EMFILE: c_int = 24;
pub const EPIPE: c_int = 32;
pub const EINVAL: c_int = 22;
pub const ENOSYS: c_int = 38;
pub const EDEADLK: c_int = 35;
pub const EMSGSIZE: c_int = 90;
pub const EADDRINUSE: c_int = 98;
pub const ECONNRESET: c_int = 104;
pub const EISCONN: c_int = 106;
pub const ENOTCONN: c_int = 107;
pub const ETIMEDOUT: c_int = 110;
pub const ECONNREFUSED: c_int = 111;
pub const EHOSTUNREACH: c_int = 113;
pub const EBADF: c_int = 9;
pub const EFAULT: c_int = 14;

pub const POLLIN: i16 = 1;
pub const POLLOUT: i16 = 4;
pub const O_NONBLOCK: usize = 0o4000;

/// Numbers of system calls.
pub mod nr {
    pub const READ: usize = 0;
    pub const WRITE: usize = 1;
    pub const OPEN: usize = 2;
    pub const CLOSE: usize = 3;
    pub const POLL: usize = 7;
    pub const MMAP: usize = 9;
    pub const MPROTECT: usize = 10;
    pub const IOCTL: usize = 16;
    pub const READV: usize = 19;
    pub const WRITEV: usize = 20;
    pub const SELECT: usize = 23;
    pub const SCHED_YIELD: usize = 24;
    pub const DUP: usize = 32;
    pub const DUP2: usize = 33;
    pub const NANOSLEEP: usize = 35;
    pub const PAUSE: usize = 34;
    pub const GETITIMER: usize = 36;
    pub const ALARM: usize = 37;
    pub const SETITIMER: usize = 38;
    pub const GETPID: usize = 39;
    pub const RT_SIGTIMEDWAIT: usize = 128;
    pub const TIMER_CREATE: usize = 222;
    pub const TIMER_SETTIME: usize = 223;
    pub const TIMER_GETTIME: usize = 224;
    pub const TIMER_GETOVERRUN: usize = 225;
    pub const TIMER_DELETE: usize = 226;
    pub const SIGNALFD: usize = 282;
    pub const SIGNALFD4: usize = 289;
    pub const SOCKET: usize = 41;
    pub const CONNECT: usize = 42;
    pub const ACCEPT: usize = 43;
    pub const SENDTO: usize = 44;
    pub const RECVFROM: usize = 45;
    pub const SENDMSG: usize = 46;
    pub const RECVMSG: usize = 47;
    pub const SHUTDOWN: usize = 48;
    pub const BIND: usize = 49;
    pub const LISTEN: usize = 50;
    pub const GETSOCKNAME: usize = 51;
    pub const GETPEERNAME: usize = 52;
    pub const SOCKETPAIR: usize = 53;
    pub const SETSOCKOPT: usize = 54;
    pub const GETSOCKOPT: usize = 55;
    pub const FCNTL: usize = 72;
    pub const FTRUNCATE: usize = 77;
    pub const GETTIMEOFDAY: usize = 96;
    pub const GETRUSAGE: usize = 98;
    pub const SYSINFO: usize = 99;
    pub const TIMES: usize = 100;
    pub const PRCTL: usize = 157;
    pub const GETTID: usize = 186;
    pub const TIME: usize = 201;
    pub const FUTEX: usize = 202;
    pub const FUTEX_WAITV: usize = 449;
    pub const SCHED_SETAFFINITY: usize = 203;
    pub const SCHED_GETAFFINITY: usize = 204;
    pub const EPOLL_CREATE: usize = 213;
    pub const CLOCK_GETTIME: usize = 228;
    pub const CLOCK_GETRES: usize = 229;
    pub const CLOCK_NANOSLEEP: usize = 230;
    pub const EXIT_GROUP: usize = 231;
    pub const EPOLL_WAIT: usize = 232;
    pub const EPOLL_CTL: usize = 233;
    pub const TGKILL: usize = 234;
    pub const KILL: usize = 62;
    pub const UNAME: usize = 63;
    pub const TKILL: usize = 200;
    pub const OPENAT: usize = 257;
    pub const NEWFSTATAT: usize = 262;
    pub const PSELECT6: usize = 270;
    pub const PPOLL: usize = 271;
    pub const EPOLL_PWAIT: usize = 281;
    pub const TIMERFD_CREATE: usize = 283;
    pub const EVENTFD: usize = 284;
    pub const TIMERFD_SETTIME: usize = 286;
    pub const TIMERFD_GETTIME: usize = 287;
    pub const ACCEPT4: usize = 288;
    pub const EVENTFD2: usize = 290;
    pub const EPOLL_CREATE1: usize = 291;
    pub const DUP3: usize = 292;
    pub const PIPE2: usize = 293;
    pub const PIPE: usize = 22;
    pub const GETCPU: usize = 309;
    pub const RECVMMSG: usize = 299;
    pub const SENDMMSG: usize = 307;
    pub const SECCOMP: usize = 317;
    pub const GETRANDOM: usize = 318;
    pub const IO_URING_SETUP: usize = 425;
    pub const PIDFD_OPEN: usize = 434;
    pub const CLOSE_RANGE: usize = 436;
    pub const EPOLL_PWAIT2: usize = 441;
}

/// The raw type of a system call's result: negative errors.
pub type Raw = isize;

/// Turns a raw result into libc's, and sets `errno`.
pub unsafe fn result(raw: Raw) -> c_long {
    if (-4095..0).contains(&raw) {
        *__errno_location() = -raw as c_int;
        return -1;
    }
    raw as c_long
}
