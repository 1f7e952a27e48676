//! The program's identity and its machine; and the refusal of calls that reach other processes.

use std::ffi::CString;

use core::ffi::{CStr, c_char, c_int, c_long, c_void};

use crate::baton;
use crate::c::{self, O_NONBLOCK, Raw, Timespec, nr};
use crate::descriptors::Kind;
use crate::end;
use crate::handlers::without_ours;
use crate::real::real;
use crate::shared::region::fault;
use crate::state::{active, sim};
use crate::sys;
use crate::time;

/// The number of every simulated process.
pub const PROCESS: Raw = 4096;

/// `openat`. The sources of random numbers are simulated; everything else is a real file.
pub unsafe fn open(folder: usize, path: usize, flags: usize, mode: usize) -> Raw {
    let random = path != 0
        && matches!(
            CStr::from_ptr(path as *const c_char).to_bytes(),
            b"/dev/urandom" | b"/dev/random"
        );
    if !random {
        let own = if path == 0 { None } else { own_files(path) };
        let path = own.as_ref().map_or(path, |own| own.as_ptr() as usize);
        return sys::call(nr::OPENAT, [folder, path, flags, mode, 0, 0]);
    }
    // The number of a descriptor that is always readable.
    let fd = sys::call(
        nr::OPENAT,
        [folder, c"/dev/null".as_ptr() as usize, flags, mode, 0, 0],
    );
    if fd >= 0 {
        sim()
            .descriptors
            .add(fd as usize, Kind::Random, flags & O_NONBLOCK != 0);
    }
    fd
}

/// Returns the kernel's name of a file below `/proc` that belongs to this process or one of its threads. The
/// program knows their simulated numbers.
unsafe fn own_files(path: usize) -> Option<CString> {
    let path = CStr::from_ptr(path as *const c_char).to_str().ok()?;
    let rest = path.strip_prefix("/proc/")?;
    let mut words: Vec<String> = rest.split('/').map(str::to_owned).collect();
    let mut is_own = rest.starts_with("self/");
    if words[0].parse() == Ok(PROCESS) {
        "self".clone_into(&mut words[0]);
        is_own = true;
    }
    if is_own && words.len() > 2 && words[1] == "task" {
        let number = words[2].parse::<Raw>().ok();
        let thread = number.and_then(|number| number.checked_sub(PROCESS));
        let thread = thread.and_then(|id| sim().threads.get(usize::try_from(id).ok()?));
        if let Some(thread) = thread {
            words[2] = thread.tid.to_string();
        }
    }
    CString::new(format!("/proc/{}", words.join("/"))).ok()
}

/// `uname` with a fixed name of the host.
pub unsafe fn uname(to: *mut u8) -> Raw {
    let result = sys::call(nr::UNAME, [to as usize, 0, 0, 0, 0, 0]);
    if result == 0 {
        core::slice::from_raw_parts_mut(to.add(65), 65).fill(0);
        core::ptr::copy_nonoverlapping(b"sim".as_ptr(), to.add(65), 3);
    }
    result
}

/// Used resources: the simulated time, and no others.
pub unsafe fn usage(to: *mut u8, size: usize) -> Raw {
    let now = sim().now;
    if !to.is_null() {
        core::slice::from_raw_parts_mut(to, size).fill(0);
        *to.cast::<u64>() = if size == 32 {
            now / 10_000_000
        } else {
            now / 1_000_000_000
        };
        if size != 32 {
            *to.cast::<u64>().add(1) = now / 1_000 % 1_000_000;
        }
    }
    if size == 32 {
        (now / 10_000_000) as Raw
    } else {
        0
    }
}

/// `sysinfo`: a machine with 8 GiB of memory, half of it free. libc's `qsort` calls it.
pub unsafe fn memory(to: *mut u64) -> Raw {
    const GIB: u64 = 1 << 30;
    core::slice::from_raw_parts_mut(to, 14).fill(0);
    *to = sim().now / 1_000_000_000;
    *to.add(4) = 8 * GIB;
    *to.add(5) = 4 * GIB;
    *to.add(10) = 1;
    // The unit of the sizes.
    *to.add(13) = 1;
    0
}

/// `getcpu`.
pub unsafe fn processor(cpu: *mut u32, node: *mut u32) -> Raw {
    for to in [cpu, node] {
        if !to.is_null() {
            *to = 0;
        }
    }
    0
}

/// `clock_getres`.
pub unsafe fn resolution(to: *mut Timespec) -> Raw {
    if !to.is_null() {
        *to = Timespec { sec: 0, nsec: 1 };
    }
    0
}

/// `sched_getaffinity`: the simulated processors.
pub unsafe fn affinity(size: usize, to: *mut u8) -> Raw {
    let count = sim().region().processors as usize;
    let set = core::slice::from_raw_parts_mut(to, size);
    set.fill(0);
    for cpu in 0..count.min(size * 8) {
        set[cpu / 8] |= 1 << (cpu % 8);
    }
    size.min(128) as Raw
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sysconf(name: c_int) -> c_long {
    const CONFIGURED: c_int = 83;
    const ONLINE: c_int = 84;
    if active() && (name == CONFIGURED || name == ONLINE) {
        return c_long::from(sim().region().processors);
    }
    real!("sysconf", fn(c_int) -> c_long)(name)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn get_nprocs() -> c_int {
    if !active() {
        return real!("get_nprocs", fn() -> c_int)();
    }
    sim().region().processors as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn get_nprocs_conf() -> c_int {
    get_nprocs()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sched_getcpu() -> c_int {
    if !active() {
        return real!("sched_getcpu", fn() -> c_int)();
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock() -> c_long {
    if !active() {
        return real!("clock", fn() -> c_long)();
    }
    (sim().now / 1_000) as c_long
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gethostname(to: *mut u8, length: usize) -> c_int {
    if !active() {
        return real!("gethostname", fn(*mut u8, usize) -> c_int)(to, length);
    }
    core::ptr::copy_nonoverlapping(c"sim".as_ptr().cast(), to, length.min(4));
    0
}

type Lookup =
    unsafe extern "C" fn(*const c_char, *const c_char, *const c_void, *mut *mut c_void) -> c_int;

/// Names of this host and numbers only. libc answers both without asking anyone.
#[unsafe(no_mangle)]
unsafe extern "C" fn getaddrinfo(
    node: *const c_char,
    service: *const c_char,
    hints: *const c_void,
    result: *mut *mut c_void,
) -> c_int {
    const NUMERIC: c_int = 4;
    const NONAME: c_int = -2;
    const AGAIN: c_int = -3;
    /// The delay of a lookup whose first server of names does not answer, in nanoseconds.
    const SLOW: u64 = 5_000_000_000;
    let lookup: Lookup = real!(
        "getaddrinfo",
        fn(*const c_char, *const c_char, *const c_void, *mut *mut c_void) -> c_int
    );
    if !active() {
        return lookup(node, service, hints, result);
    }
    baton::point("getaddrinfo", 0);
    let mut numeric = [0 as c_int; 12];
    if !hints.is_null() {
        core::ptr::copy_nonoverlapping(hints.cast(), numeric.as_mut_ptr(), 4);
    }
    numeric[0] |= NUMERIC;
    let name = if node.is_null() {
        c""
    } else {
        CStr::from_ptr(node)
    };
    let mine = matches!(name.to_bytes(), b"localhost" | b"sim");
    if mine {
        match baton::fault_of(fault::DNS, 2) {
            1 => {
                let later = sim().now + SLOW;
                time::sleep_until("getaddrinfo", later);
            }
            2 => return AGAIN,
            _ => {}
        }
    }
    let node = match (mine, numeric[1]) {
        (true, 10) => c"::1".as_ptr(),
        (true, _) => c"127.0.0.1".as_ptr(),
        _ => node,
    };
    let found = lookup(node, service, numeric.as_ptr().cast(), result);
    if found == NONAME && !mine {
        let what = format!("getaddrinfo of {}", name.to_string_lossy());
        end::escaped(&what, getaddrinfo as *const () as usize);
    }
    found
}

/// Functions that leave the process, or let libc start threads of its own: refused. Those that start
/// other programs are in `outside`.
macro_rules! refused {
    ($($name:ident),*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
            if active() {
                end::escaped(stringify!($name), $name as *const () as usize);
            }
            real!(stringify!($name), fn(usize, usize, usize, usize, usize, usize) -> isize)(a, b, c, d, e, f)
        }
    )*};
}

refused!(
    sigsuspend,
    pthread_sigqueue,
    sigqueue,
    lockf,
    mq_open,
    shmget,
    semget,
    msgget,
    inotify_init,
    inotify_init1,
    io_setup,
    thrd_create,
    aio_read,
    aio_read64,
    aio_write,
    aio_write64,
    aio_fsync,
    lio_listio,
    lio_listio64,
    getaddrinfo_a,
    mq_notify
);

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_sigmask(how: c_int, set: *const u64, old: *mut u64) -> c_int {
    let mut copy = [0; 16];
    let set = without_ours(set, &mut copy);
    real!("pthread_sigmask", fn(c_int, *const u64, *mut u64) -> c_int)(how, set, old)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigprocmask(how: c_int, set: *const u64, old: *mut u64) -> c_int {
    let mut copy = [0; 16];
    let set = without_ours(set, &mut copy);
    real!("sigprocmask", fn(c_int, *const u64, *mut u64) -> c_int)(how, set, old)
}

/// The auxiliary vector without the page of the kernel that reads clocks without a call.
#[unsafe(no_mangle)]
unsafe extern "C" fn getauxval(kind: u64) -> u64 {
    const VDSO: u64 = 33;
    if active() && kind == VDSO {
        return 0;
    }
    real!("getauxval", fn(u64) -> u64)(kind)
}

/// Overwrites the random bytes that the kernel gives to a new program.
pub unsafe fn replace_random_bytes(bytes: [u8; 16]) {
    const RANDOM: u64 = 25;
    let at = c::getauxval(RANDOM) as *mut [u8; 16];
    if !at.is_null() {
        *at = bytes;
    }
}
