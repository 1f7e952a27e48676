//! The system call: a number and six arguments in, a raw result out.
//!
//! Three kinds of numbers: simulated ones, harmless ones (they go to the kernel: memory, files, what a
//! thread says about itself), and all others, which end the run as escaped. `harmless` is also the list
//! of the filter in `trap`, so a number is in exactly one kind whichever way it comes.

use crate::alarms;
use crate::baton;
use crate::c::{ENOSYS, Raw, nr};
use crate::descriptors as d;
use crate::end;
use crate::files;
use crate::futex;
use crate::identity;
use crate::messages;
use crate::random;
use crate::readiness as r;
use crate::signals;
use crate::sockets;
use crate::state::{NEVER, sim};
use crate::sys;
use crate::time;
use crate::timers;

/// Calls whose results depend on nothing but the program and its files, and which do not wait for
/// another thread.
pub const HARMLESS: &[u16] = &[
    // Memory: mmap, mprotect, munmap, brk, mremap, msync, mincore, madvise, mlock and relatives.
    9, 10, 11, 12, 25, 26, 27, 28, 149, 150, 151, 152, 325, 319, 329, 330, 331, 447,
    // Files by name: stat, lstat, access, truncate, getcwd, chdir, rename, mkdir, rmdir, link, unlink,
    // symlink, readlink, chmod, chown, statfs, their relatives with a folder, statx, umask.
    4, 6, 21, 76, 79, 80, 82, 83, 84, 86, 87, 88, 89, 90, 92, 94, 95, 137, 258, 260, 262, 263, 264,
    265, 266, 267, 268, 269, 280, 316, 332, 439, 132, 235,
    // Files by descriptor: fstat, lseek, pread, pwrite, preadv, pwritev, flush, ftruncate, folders,
    // allocation, advice, attributes.
    5, 8, 17, 18, 295, 296, 327, 328, 74, 75, 77, 78, 217, 81, 91, 93, 138, 221, 285, 277, 306, 162,
    326, 188, 189, 190, 191, 192, 193, 194, 195, 196, 197, 198, 199,
    // Signals of this thread: rt_sigaction, rt_sigprocmask, rt_sigreturn, sigaltstack, rt_sigpending.
    13, 14, 15, 131, 127,
    // Threads of libc: exit, exit_group, arch_prctl, set_tid_address, robust lists, rseq, membarrier.
    60, 231, 158, 218, 273, 274, 334, 324, // Users, groups and limits.
    102, 104, 107, 108, 115, 118, 120, 121, 110, 111, 124, 97, 160, 302, 140, 141, 143, 145, 146,
    147, 105, 106, 113, 114, 125,
    // prctl names threads and asks for settings. Real numbers of the process, which libc needs to send
    // a signal to itself.
    157, 39, 186, 234,
];

/// `clone3` comes from libc's `pthread_create` only: `fork` and its relatives are symbols that this
/// object refuses, and the filter looks at the flags of `clone`.
pub const CLONE: u16 = 56;
/// See [`CLONE`].
pub const CLONE3: u16 = 435;

/// Executes a system call of the program. `from` is the address of the call.
pub unsafe fn call(number: usize, a: [usize; 6], from: usize) -> Raw {
    if files::is_on() {
        if let Some(result) = files::call(number, a, from) {
            return result;
        }
    }
    match number {
        nr::READ => d::read(a[0], a[1], a[2]),
        nr::WRITE => d::write(a[0], a[1], a[2]),
        nr::READV => d::readv(a[0], a[1], a[2]),
        nr::WRITEV => d::writev(a[0], a[1], a[2]),
        nr::CLOSE => d::close(a[0]),
        nr::DUP | nr::DUP2 | nr::DUP3 => {
            baton::point("dup", 0);
            d::duplicated(a[0], sys::call(number, a))
        }
        nr::PIPE => d::pipe(a[0] as *mut i32, 0),
        nr::PIPE2 => d::pipe(a[0] as *mut i32, a[1]),
        nr::EVENTFD => d::event(a[0], 0),
        nr::EVENTFD2 => d::event(a[0], a[1]),
        nr::FCNTL => match d::fcntl(a[0], a[1], a[2]) {
            Some(result) => result,
            // Locks of files that wait.
            None if a[1] == 7 || a[1] == 38 => end::escaped("fcntl that waits for a lock", from),
            None => sys::call(number, a),
        },
        nr::IOCTL => match d::ioctl(a[0], a[1], a[2]) {
            Some(result) => result,
            None => sys::call(number, a),
        },
        nr::OPEN => identity::open(-100isize as usize, a[0], a[1], a[2]),
        nr::OPENAT => identity::open(a[0], a[1], a[2], a[3]),

        nr::POLL => r::poll(a[0] as *mut _, a[1], r::after_milliseconds(a[2] as i32)),
        nr::PPOLL => r::poll(a[0] as *mut _, a[1], r::after(a[2] as *const _)),
        nr::SELECT => {
            let deadline = if a[4] == 0 {
                NEVER
            } else {
                let time = *(a[4] as *const crate::c::Timeval);
                let total =
                    time.sec.max(0) as u64 * 1_000_000_000 + time.usec.max(0) as u64 * 1_000;
                sim().now.saturating_add(total)
            };
            r::select(
                a[0],
                [a[1] as *mut _, a[2] as *mut _, a[3] as *mut _],
                deadline,
            )
        }
        nr::PSELECT6 => r::select(
            a[0],
            [a[1] as *mut _, a[2] as *mut _, a[3] as *mut _],
            r::after(a[4] as *const _),
        ),
        nr::EPOLL_CREATE => r::epoll_create(0),
        nr::EPOLL_CREATE1 => r::epoll_create(a[0]),
        nr::EPOLL_CTL => r::epoll_ctl(a),
        nr::EPOLL_WAIT | nr::EPOLL_PWAIT => {
            r::epoll_wait(a[0], a[1], a[2], r::after_milliseconds(a[3] as i32))
        }
        nr::EPOLL_PWAIT2 => r::epoll_wait(a[0], a[1], a[2], r::after(a[3] as *const _)),
        nr::TIMERFD_CREATE => timers::create(a[0], a[1]),
        nr::TIMERFD_SETTIME => timers::set(a[0], a[1], a[2] as *const _, a[3] as *mut _),
        nr::TIMERFD_GETTIME => timers::get(a[0], a[1] as *mut _),

        nr::SOCKET => sockets::socket(a[0] as i32, a[1] as i32, a[2] as i32, from),
        nr::SOCKETPAIR => sockets::pair(a[0] as i32, a[1] as i32, a[3] as *mut i32, from),
        nr::BIND => sockets::bind(a[0], a[1], a[2], from),
        nr::LISTEN => sockets::listen(a[0], a[1]),
        nr::CONNECT => sockets::connect(a[0], a[1], a[2], from),
        nr::ACCEPT => sockets::accept(a[0], a[1], a[2], 0),
        nr::ACCEPT4 => sockets::accept(a[0], a[1], a[2], a[3]),
        nr::GETSOCKNAME | nr::GETPEERNAME => sockets::name_of(number, a[0], a[1], a[2]),
        nr::SETSOCKOPT => sockets::set_option(a[0], a[1] as i32, a[2] as i32, a[3], a[4]),
        nr::GETSOCKOPT => sockets::get_option(a[0], a[1] as i32, a[2] as i32, a[3], a[4]),
        nr::SHUTDOWN => sockets::shutdown(a[0], a[1]),
        nr::SENDTO => messages::send(a, from),
        nr::RECVFROM => messages::receive(a),
        nr::SENDMSG => messages::send_message(a[0], a[1] as *const _, a[2], from),
        nr::RECVMSG => messages::receive_message(a[0], a[1] as *mut _, a[2], from),

        nr::SENDMMSG => messages::send_messages(a, from),
        nr::RECVMMSG => messages::receive_messages(a, from),

        nr::FUTEX => futex::call(a, from),
        nr::FUTEX_WAITV => futex::wait_for_any(a),
        nr::SCHED_YIELD => {
            baton::sched_yield();
            0
        }
        nr::NANOSLEEP => {
            time::clock_nanosleep(time::MONOTONIC, 0, a[0] as *const _, a[1] as *mut _)
        }
        nr::CLOCK_NANOSLEEP => {
            time::clock_nanosleep(a[0] as i32, a[1] as i32, a[2] as *const _, a[3] as *mut _)
        }
        nr::CLOCK_GETTIME => time::clock_gettime(a[0] as i32, a[1] as *mut _),
        nr::CLOCK_GETRES => identity::resolution(a[1] as *mut _),
        nr::GETTIMEOFDAY => time::gettimeofday(a[0] as *mut _),
        nr::TIME => time::time(a[0] as *mut _),
        nr::GETRANDOM => {
            random::fill(a[0] as *mut u8, a[1]);
            a[1] as Raw
        }
        nr::ALARM => alarms::set_alarm(a[0]),
        nr::SETITIMER => alarms::set_timer(a[0], a[1] as *const _, a[2] as *mut _, from),
        nr::GETITIMER => alarms::get(a[0], a[1] as *mut _, from),
        nr::PAUSE => alarms::pause_thread(),
        nr::GETPID => identity::PROCESS,
        nr::GETTID => identity::PROCESS + sim().current as Raw,
        nr::KILL | nr::TKILL | nr::TGKILL => signals::send(number, a, from),
        nr::RT_SIGTIMEDWAIT => {
            signals::wait_for(a[0] as *const _, a[1], r::after(a[2] as *const _))
        }
        nr::SIGNALFD => signals::descriptor(a[0], a[1], 0),
        nr::SIGNALFD4 => signals::descriptor(a[0], a[1], a[3]),
        nr::TIMER_CREATE => alarms::create(a[0] as i32, a[1] as *const _, a[2] as *mut _, from),
        nr::TIMER_SETTIME => alarms::set_time(a[0] as i32, a[1], a[2] as *const _, a[3] as *mut _),
        nr::TIMER_GETTIME => alarms::get_time(a[0] as i32, a[1] as *mut _),
        nr::TIMER_GETOVERRUN => alarms::missed(a[0] as i32),
        nr::TIMER_DELETE => alarms::delete(a[0] as i32),
        nr::UNAME => identity::uname(a[0] as *mut u8),
        nr::GETRUSAGE => identity::usage(a[1] as *mut u8, 144),
        nr::TIMES => identity::usage(a[0] as *mut u8, 32),
        nr::SYSINFO => identity::memory(a[0] as *mut u64),
        nr::GETCPU => identity::processor(a[0] as *mut u32, a[1] as *mut u32),
        nr::SCHED_GETAFFINITY => identity::affinity(a[1], a[2] as *mut u8),
        // A processor of the simulation is as good as another one.
        nr::SCHED_SETAFFINITY => 0,
        // Every program has to live without them. (smol asks for the second one at its start.)
        nr::IO_URING_SETUP | nr::PIDFD_OPEN => -(ENOSYS as Raw),
        nr::CLOSE_RANGE if a[2] & 4 == 0 => end::escaped("close_range", from),
        nr::CLOSE_RANGE => 0,
        _ if HARMLESS.contains(&(number as u16)) => sys::call(number, a),
        _ if number > 1000 => -(ENOSYS as Raw),
        _ => end::escaped(&format!("system call {number}{}", name(number)), from),
    }
}

/// Returns the names of numbers that programs are likely to use.
fn name(number: usize) -> &'static str {
    match number {
        40 => " (sendfile)",
        56 | 435 => " (clone)",
        57 => " (fork)",
        58 => " (vfork)",
        59 | 322 => " (execve)",
        61 | 247 => " (wait)",
        73 => " (flock)",
        130 => " (rt_sigsuspend)",
        253 | 294 => " (inotify)",
        275 => " (splice)",
        426 => " (io_uring_enter)",
        _ => "",
    }
}
