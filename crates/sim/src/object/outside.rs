//! Child processes, which run outside of the simulation where the user allows them. Each is reported.
//!
//! A child takes real time. While there is one and no thread can run, simulated time passes as real time
//! does, a millisecond at once, and descriptors are looked at after each: the child may be at the other end of
//! a pipe. So such a run is not a deadlock, and is not deterministic.
//!
//! A filter of system calls and the trap of the processor's counter would go along into the child and end
//! it. A run with children has neither.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::baton;
use crate::c::{POLLIN, POLLOUT, Pollfd, nr};
use crate::descriptors::{Kind, Waits};
use crate::end;
use crate::real::real;
use crate::state::{State, active, sim, stop};
use crate::sys;

/// The variable that allows children.
pub const VARIABLE: &core::ffi::CStr = c"BLITZ_SIM_EXEC";
/// Bytes for which a pipe that is ready has room.
const PIPE_PART: usize = 4096;
const MILLISECOND: u64 = 1_000_000;
/// `WNOHANG`.
const NO_HANG: c_int = 1;

static ALLOWED: AtomicBool = AtomicBool::new(false);
static CHILDREN: AtomicU32 = AtomicU32::new(0);

/// Allows children.
pub fn allow() {
    ALLOWED.store(true, Ordering::Relaxed);
}

/// Returns `true` if children are allowed.
pub fn is_allowed() -> bool {
    ALLOWED.load(Ordering::Relaxed)
}

/// Returns `true` if there may be a child.
pub fn has_children() -> bool {
    CHILDREN.load(Ordering::Relaxed) > 0
}

/// Ends the run at a call that starts a program, or reports it.
unsafe fn require_allowed(name: &str, from: usize) {
    if !is_allowed() {
        end::escaped(name, from);
    }
    baton::point("start of a program", 0);
    end::note(&format!("outside: {name}\n"));
}

/// Waits for real time to pass, or for a descriptor. No thread can run.
pub unsafe fn idle() {
    let s = sim();
    let mut set = vec![];
    for id in &s.live {
        set.extend_from_slice(&s.threads[*id as usize].set);
    }
    sys::call(nr::POLL, [set.as_mut_ptr() as usize, set.len(), 1, 0, 0, 0]);
    baton::advance(MILLISECOND);
    baton::descriptors_changed();
}

/// Lets others run while a child does, or real time pass.
unsafe fn pause() {
    baton::yield_now("a wait for a child");
    let s = sim();
    let mut others = s.live.iter().filter(|id| **id != s.current);
    if !others.any(|id| s.threads[*id as usize].state == State::Ready) {
        idle();
    }
}

/// Waits for a child. `one` returns 0 if none has changed.
unsafe fn wait_for(flags: c_int, one: impl Fn() -> isize) -> isize {
    loop {
        let result = one();
        if result != 0 || flags & NO_HANG != 0 {
            if result > 0 {
                let less = |count: u32| Some(count.saturating_sub(1));
                let _ = CHILDREN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
            }
            return result;
        }
        pause();
    }
}

/// Pipes block in the kernel where children may have an end. Returns `true` if a transfer would wait.
pub unsafe fn would_wait(waits: Waits) -> bool {
    let is_pipe = matches!(
        sim().descriptors.get(waits.fd).map(|it| &it.kind),
        Some(Kind::Stream)
    );
    let mut set = [Pollfd {
        fd: waits.fd as i32,
        events: waits.events & (POLLIN | POLLOUT),
        revents: 0,
    }];
    is_allowed() && is_pipe && sys::poll_now(&mut set) == 0
}

/// Returns the number of bytes that a write may have.
pub unsafe fn part(fd: usize, length: usize) -> usize {
    let description = sim().descriptors.get(fd);
    match description.map(|description| &description.kind) {
        Some(Kind::Stream) if is_allowed() => length.min(PIPE_PART),
        _ => length,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fork() -> c_int {
    let is_active = active();
    if is_active {
        require_allowed("fork", fork as *const () as usize);
    }
    let child = real!("fork", fn() -> c_int)();
    match child {
        0 => stop(),
        _ if child > 0 && is_active => {
            CHILDREN.fetch_add(1, Ordering::Relaxed);
        }
        _ => {}
    }
    child
}

/// A child of its own memory does what one of `vfork` may do.
#[unsafe(no_mangle)]
unsafe extern "C" fn vfork() -> c_int {
    fork()
}

/// Functions that start a program: which result says that one runs now.
macro_rules! starts {
    ($($name:ident: $runs:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
            let is_active = active();
            if is_active {
                require_allowed(stringify!($name), $name as *const () as usize);
            }
            let start = real!(stringify!($name), fn(usize, usize, usize, usize, usize, usize) -> isize);
            let result = start(a, b, c, d, e, f);
            let runs: fn(isize) -> bool = $runs;
            if is_active && runs(result) {
                CHILDREN.fetch_add(1, Ordering::Relaxed);
            }
            result
        }
    )*};
}

starts! {
    posix_spawn: |result| result as c_int == 0;
    posix_spawnp: |result| result as c_int == 0;
    popen: |result| result != 0;
    // It waits for the program.
    system: |_| false;
}

/// Functions by which another program takes the place of this one.
macro_rules! replaces {
    ($($name:ident),*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
            if active() {
                require_allowed(stringify!($name), $name as *const () as usize);
            }
            real!(stringify!($name), fn(usize, usize, usize, usize, usize, usize) -> isize)(a, b, c, d, e, f)
        }
    )*};
}

replaces!(execve, execv, execvp, execvpe, fexecve);

unsafe fn require_wait(name: &str, from: usize) {
    if !is_allowed() {
        end::escaped(name, from);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn wait4(
    pid: c_int,
    status: *mut c_int,
    flags: c_int,
    usage: *mut c_void,
) -> c_int {
    let wait = real!("wait4", fn(c_int, *mut c_int, c_int, *mut c_void) -> c_int);
    if !active() {
        return wait(pid, status, flags, usage);
    }
    require_wait("wait4", wait4 as *const () as usize);
    wait_for(flags, || wait(pid, status, flags | NO_HANG, usage) as isize) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn waitpid(pid: c_int, status: *mut c_int, flags: c_int) -> c_int {
    if active() {
        require_wait("waitpid", waitpid as *const () as usize);
    }
    wait4(pid, status, flags, core::ptr::null_mut())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn wait(status: *mut c_int) -> c_int {
    if active() {
        require_wait("wait", wait as *const () as usize);
    }
    wait4(-1, status, 0, core::ptr::null_mut())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn waitid(kind: c_int, id: c_int, info: *mut c_int, flags: c_int) -> c_int {
    let wait = real!("waitid", fn(c_int, c_int, *mut c_int, c_int) -> c_int);
    if !active() {
        return wait(kind, id, info, flags);
    }
    require_wait("waitid", waitid as *const () as usize);
    let mut room = [0 as c_int; 32];
    let place = if info.is_null() {
        room.as_mut_ptr()
    } else {
        info
    };
    let result = wait_for(flags, || {
        // The child's number stays 0 if none has changed.
        *place.add(4) = 0;
        match wait(kind, id, place, flags | NO_HANG) {
            0 => *place.add(4) as isize,
            error => error as isize,
        }
    });
    result.min(0) as c_int
}
