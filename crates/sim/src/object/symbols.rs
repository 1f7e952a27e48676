//! libc's functions over the system calls: each passes its arguments to `dispatch`, and turns the result
//! into libc's.
//!
//! A function with optional arguments is declared with all of them: on x86-64, arguments of integer types
//! come in the same registers either way.

use core::ffi::{c_char, c_int, c_long, c_uint, c_void};

use crate::c::{EINVAL, Timespec, nr, result};
use crate::dispatch;
use crate::end;
use crate::real::real;
use crate::state::active;
use crate::sys;
use crate::time;

unsafe fn call(number: usize, a: [usize; 6]) -> c_long {
    result(if active() {
        dispatch::call(number, a, 0)
    } else {
        sys::call(number, a)
    })
}

/// `syscall`, which std, parking_lot and libstdc++ use for futexes.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: usize,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    call(number, [a, b, c, d, e, f])
}

/// `name(arguments) -> result: NUMBER`, with the arguments in the order of the system call.
macro_rules! calls {
    ($($name:ident($($argument:ident),*) -> $result:ty: $number:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: usize),*) -> $result {
            let mut all = [0; 6];
            let given: &[usize] = &[$($argument),*];
            all[..given.len()].copy_from_slice(given);
            call($number, all) as $result
        }
    )*};
}

calls! {
    read(a, b, c) -> c_long: nr::READ;
    write(a, b, c) -> c_long: nr::WRITE;
    readv(a, b, c) -> c_long: nr::READV;
    writev(a, b, c) -> c_long: nr::WRITEV;
    close(a) -> c_int: nr::CLOSE;
    dup(a) -> c_int: nr::DUP;
    dup2(a, b) -> c_int: nr::DUP2;
    dup3(a, b, c) -> c_int: nr::DUP3;
    pipe(a) -> c_int: nr::PIPE;
    pipe2(a, b) -> c_int: nr::PIPE2;
    eventfd(a, b) -> c_int: nr::EVENTFD2;
    fcntl(a, b, c) -> c_int: nr::FCNTL;
    fcntl64(a, b, c) -> c_int: nr::FCNTL;
    ioctl(a, b, c) -> c_int: nr::IOCTL;
    openat(a, b, c, d) -> c_int: nr::OPENAT;
    openat64(a, b, c, d) -> c_int: nr::OPENAT;
    open(a, b, c) -> c_int: nr::OPEN;
    open64(a, b, c) -> c_int: nr::OPEN;
    poll(a, b, c) -> c_int: nr::POLL;
    ppoll(a, b, c) -> c_int: nr::PPOLL;
    select(a, b, c, d, e) -> c_int: nr::SELECT;
    pselect(a, b, c, d, e) -> c_int: nr::PSELECT6;
    epoll_create(a) -> c_int: nr::EPOLL_CREATE;
    epoll_create1(a) -> c_int: nr::EPOLL_CREATE1;
    epoll_ctl(a, b, c, d) -> c_int: nr::EPOLL_CTL;
    epoll_wait(a, b, c, d) -> c_int: nr::EPOLL_WAIT;
    epoll_pwait(a, b, c, d) -> c_int: nr::EPOLL_PWAIT;
    epoll_pwait2(a, b, c, d) -> c_int: nr::EPOLL_PWAIT2;
    timerfd_create(a, b) -> c_int: nr::TIMERFD_CREATE;
    timerfd_settime(a, b, c, d) -> c_int: nr::TIMERFD_SETTIME;
    timerfd_gettime(a, b) -> c_int: nr::TIMERFD_GETTIME;
    socket(a, b, c) -> c_int: nr::SOCKET;
    socketpair(a, b, c, d) -> c_int: nr::SOCKETPAIR;
    bind(a, b, c) -> c_int: nr::BIND;
    listen(a, b) -> c_int: nr::LISTEN;
    connect(a, b, c) -> c_int: nr::CONNECT;
    accept(a, b, c) -> c_int: nr::ACCEPT;
    accept4(a, b, c, d) -> c_int: nr::ACCEPT4;
    getsockname(a, b, c) -> c_int: nr::GETSOCKNAME;
    getpeername(a, b, c) -> c_int: nr::GETPEERNAME;
    setsockopt(a, b, c, d, e) -> c_int: nr::SETSOCKOPT;
    getsockopt(a, b, c, d, e) -> c_int: nr::GETSOCKOPT;
    shutdown(a, b) -> c_int: nr::SHUTDOWN;
    sendto(a, b, c, d, e, f) -> c_long: nr::SENDTO;
    send(a, b, c, d) -> c_long: nr::SENDTO;
    recvfrom(a, b, c, d, e, f) -> c_long: nr::RECVFROM;
    recv(a, b, c, d) -> c_long: nr::RECVFROM;
    sendmsg(a, b, c) -> c_long: nr::SENDMSG;
    recvmsg(a, b, c) -> c_long: nr::RECVMSG;
    sendmmsg(a, b, c, d) -> c_int: nr::SENDMMSG;
    recvmmsg(a, b, c, d, e) -> c_int: nr::RECVMMSG;
    nanosleep(a, b) -> c_int: nr::NANOSLEEP;
    clock_gettime(a, b) -> c_int: nr::CLOCK_GETTIME;
    clock_getres(a, b) -> c_int: nr::CLOCK_GETRES;
    gettimeofday(a) -> c_int: nr::GETTIMEOFDAY;
    time(a) -> c_long: nr::TIME;
    getrandom(a, b, c) -> c_long: nr::GETRANDOM;
    getpid() -> c_int: nr::GETPID;
    gettid() -> c_int: nr::GETTID;
    kill(a, b) -> c_int: nr::KILL;
    uname(a) -> c_int: nr::UNAME;
    getrusage(a, b) -> c_int: nr::GETRUSAGE;
    times(a) -> c_long: nr::TIMES;
    sysinfo(a) -> c_int: nr::SYSINFO;
    sched_setaffinity(a, b, c) -> c_int: nr::SCHED_SETAFFINITY;
}

/// libc returns 0 where the system call returns the number of bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn sched_getaffinity(_process: c_int, size: usize, to: *mut u8) -> c_int {
    if size == 0 || to.is_null() {
        return result(-(EINVAL as isize)) as c_int;
    }
    core::slice::from_raw_parts_mut(to, size).fill(0);
    (call(nr::SCHED_GETAFFINITY, [0, size, to as usize, 0, 0, 0]) as c_int).min(0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getaffinity_np(_thread: usize, size: usize, to: *mut u8) -> c_int {
    sched_getaffinity(0, size, to)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setaffinity_np(thread: usize, size: usize, set: *const u8) -> c_int {
    if active() {
        return 0;
    }
    real!(
        "pthread_setaffinity_np",
        fn(usize, usize, *const u8) -> c_int
    )(thread, size, set)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_nanosleep(
    clock: c_int,
    flags: c_int,
    request: *const Timespec,
    remaining: *mut Timespec,
) -> c_int {
    if active() {
        return -(time::clock_nanosleep(clock, flags, request, remaining) as c_int);
    }
    let a = [
        clock as usize,
        flags as usize,
        request as usize,
        remaining as usize,
        0,
        0,
    ];
    -(sys::call(nr::CLOCK_NANOSLEEP, a) as c_int)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usleep(microseconds: c_uint) -> c_int {
    let (sec, nsec) = (microseconds / 1_000_000, microseconds % 1_000_000 * 1_000);
    let request = Timespec {
        sec: sec.into(),
        nsec: nsec.into(),
    };
    call(nr::NANOSLEEP, [&raw const request as usize, 0, 0, 0, 0, 0]) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sleep(seconds: c_uint) -> c_uint {
    let request = Timespec {
        sec: seconds.into(),
        nsec: 0,
    };
    let mut left = Timespec::default();
    let at = (&raw const request as usize, &raw mut left as usize);
    match call(nr::NANOSLEEP, [at.0, at.1, 0, 0, 0, 0]) {
        0 => 0,
        _ => left.sec as c_uint + c_uint::from(left.nsec > 0),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ftime(_: *mut c_void) -> c_int {
    if active() {
        end::escaped("ftime", ftime as *const () as usize);
    }
    -1
}

#[unsafe(no_mangle)]
unsafe extern "C" fn timespec_get(to: *mut Timespec, base: c_int) -> c_int {
    if base != 1 {
        return 0;
    }
    call(nr::CLOCK_GETTIME, [0, to as usize, 0, 0, 0, 0]);
    base
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getentropy(to: usize, length: usize) -> c_int {
    if length > 256 {
        return result(-5) as c_int;
    }
    call(nr::GETRANDOM, [to, length, 0, 0, 0, 0]).min(0) as c_int
}

/// glibc's own source for `arc4random`.
#[unsafe(no_mangle)]
unsafe extern "C" fn arc4random_buf(to: usize, length: usize) {
    call(nr::GETRANDOM, [to, length, 0, 0, 0, 0]);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn arc4random() -> u32 {
    let mut number = 0u32;
    arc4random_buf(&raw mut number as usize, 4);
    number
}

/// Streams on the sources of random numbers would read them from the kernel.
#[unsafe(no_mangle)]
unsafe extern "C" fn fopen(path: *const c_char, mode: *const c_char) -> *mut c_void {
    refuse_random(path);
    real!("fopen", fn(*const c_char, *const c_char) -> *mut c_void)(path, mode)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fopen64(path: *const c_char, mode: *const c_char) -> *mut c_void {
    refuse_random(path);
    real!("fopen64", fn(*const c_char, *const c_char) -> *mut c_void)(path, mode)
}

unsafe fn refuse_random(path: *const c_char) {
    let path = core::ffi::CStr::from_ptr(path).to_bytes();
    if active() && matches!(path, b"/dev/urandom" | b"/dev/random") {
        end::escaped(
            "fopen of a source of random numbers",
            fopen as *const () as usize,
        );
    }
}

/// Parts of the checked variants that compilers call instead.
#[unsafe(no_mangle)]
unsafe extern "C" fn __read_chk(fd: usize, to: usize, length: usize, _: usize) -> c_long {
    read(fd, to, length)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __recv_chk(
    fd: usize,
    to: usize,
    length: usize,
    _: usize,
    flags: usize,
) -> c_long {
    recv(fd, to, length, flags)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __poll_chk(set: usize, count: usize, timeout: usize, _: usize) -> c_int {
    poll(set, count, timeout)
}
