//! Ends a run that does not exit: with a verdict and a report.

use core::ffi::CStr;
use core::fmt::Write;
use core::sync::atomic::Ordering;

use crate::baton;
use crate::c::{self, nr};
use crate::explain;
use crate::loops;
use crate::shared::region::{Region, TEXT, WAITS, verdict};
use crate::state::{Class, NEVER, State, sim, stop};
use crate::sys;

/// Calls on a stack that a report has. The runtime of a program that is compiled without optimisation needs dozens
/// between `main` and a wait.
const FRAMES: usize = 96;

/// The report, which is in the shared memory.
struct Report(*mut Region);

impl Write for Report {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        // SAFETY: the region is mapped as long as the process lives, and only the thread with the baton
        // writes to it.
        let region = unsafe { &mut *self.0 };
        for byte in text.bytes() {
            if (region.text_length as usize) < TEXT {
                region.text[region.text_length as usize] = byte;
                region.text_length += 1;
            }
        }
        Ok(())
    }
}

unsafe fn report() -> Report {
    Report(sim().region)
}

/// Adds a line to the report of a run that continues.
pub unsafe fn note(text: &str) {
    let _ = report().write_str(text);
}

/// Ends the process with a verdict.
pub unsafe fn with(verdict: u32, text: &str) -> ! {
    let _ = report().write_str(text);
    let verdict = explain::ended(verdict);
    sim().region().verdict = verdict;
    stop();
    sys::exit_group(100 + verdict as i32);
}

/// Ends a run in which all threads wait, and none of them for a time that may pass.
pub unsafe fn deadlock() -> ! {
    // Not for a report of the program that waits itself.
    if sim().explained.is_none() {
        // Without the option, this would be no deadlock.
        let first = baton::earliest();
        let waits_for_time = sim().region().no_timeouts != 0 && first != NEVER;
        if waits_for_time {
            let left = first.saturating_sub(sim().now);
            let _ = writeln!(
                report(),
                "with --no-timeouts, no time limit ends a wait: without the option, the first would end after {left} ns"
            );
        }
        list_threads();
        if waits_for_time && explain::can_ask() {
            explain::report();
        } else {
            explain::begin();
        }
    }
    with(verdict::DEADLOCK, "");
}

/// Ends a run in which some waits can never end, although threads can run.
pub unsafe fn stuck() -> ! {
    let _ = writeln!(
        report(),
        "some waits can never end, and other threads run on"
    );
    list_threads();
    explain::report();
    with(verdict::DEADLOCK, "");
}

/// Ends a run without progress.
pub unsafe fn livelock(without_wakes: bool) -> ! {
    let what = if without_wakes {
        "no progress"
    } else {
        "nothing but threads that wake each other, or are woken by time,"
    };
    let limit = sim().region().limit;
    let _ = writeln!(
        report(),
        "{what} for long (the limit is {limit} points without progress)"
    );
    list_threads();
    explain::report();
    with(verdict::LIVELOCK, "");
}

/// The run has reached the step at which it is to stop: it ends, or waits for a debugger.
pub unsafe fn at_step() {
    const SET_PTRACER: usize = 0x5961_6d61;
    const SIGSTOP: usize = 19;
    let s = sim();
    let (step, name, call) = (s.region().until, s.current, s.me().call);
    let _ = write!(
        report(),
        "step {step}, after {} ns: thread {name} is about to call {call}",
        s.now
    );
    let _ = match s.region().pause {
        0 => writeln!(report()),
        _ => writeln!(
            report(),
            " (process {}, LWP {})",
            sys::getpid(),
            sys::gettid()
        ),
    };
    list_threads();
    if sim().region().pause == 0 {
        with(verdict::STOPPED, "");
    }
    // A debugger that is not this process's parent may need the permission.
    sys::call(nr::PRCTL, [SET_PTRACER, usize::MAX, 0, 0, 0, 0]);
    loops::forget();
    sim().region().verdict = verdict::STOPPED;
    sim().region().paused.store(1, Ordering::Release);
    sys::call(nr::KILL, [sys::getpid() as usize, SIGSTOP, 0, 0, 0, 0]);
}

/// The decision at `index` is not the recorded one.
pub unsafe fn diverged(index: u32, recorded: (u16, u16), here: (u16, usize)) -> ! {
    let text = format!(
        "decision {index} was of kind {} with {} choices, and is of kind {} with {} here\n",
        recorded.0, recorded.1, here.0, here.1
    );
    with(verdict::DIVERGED, &text);
}

/// The program made a call that is neither simulated nor harmless.
pub unsafe fn escaped(name: &str, address: usize) -> ! {
    // A call through a symbol of this object has no address of its own; it stands for its caller.
    let mine = base_of(escaped as *const () as usize);
    let outside = address != 0 && base_of(address) != mine;
    let place = if outside { address } else { caller() };
    let _ = writeln!(report(), "escaped: {name}, {}", Place(place));
    append_backtrace();
    with(verdict::ESCAPED, "");
}

/// A thread that does not have the baton made a call: something else than `pthread_create` started it.
/// The thread with the baton may write a report at the same time, so this one stays short.
pub unsafe fn escaped_elsewhere(number: usize, address: usize) -> ! {
    let place = Place(address);
    let text = format!("escaped: system call {number} of a thread that libc started, {place}\n");
    with(verdict::ESCAPED, &text);
}

/// Writes each thread's wait and its backtrace.
unsafe fn list_threads() {
    let count = sim().threads.len() as u32;
    for id in 0..count {
        list_thread(id);
    }
}

/// Writes the wait of a thread and its backtrace, unless it has ended.
pub unsafe fn list_thread(id: u32) {
    let s = sim();
    let now = s.now;
    let thread = &s.threads[id as usize];
    let name = CStr::from_ptr(thread.name.as_ptr().cast()).to_string_lossy();
    let what = match (thread.state, thread.key.0) {
        (State::Done, _) => return,
        (State::Ready, _) => "could run".to_owned(),
        (_, Class::Sleep) => "sleeps".to_owned(),
        (_, class) => format!("waits for {}", WAITS[class as usize]),
    };
    let _ = write!(report(), "thread {id}");
    if !name.is_empty() {
        let _ = write!(report(), " \"{name}\"");
    }
    let _ = write!(report(), " {what}");
    if thread.state == State::Blocked {
        // The deadline may have passed, at the end of a test.
        let left = thread.deadline.saturating_sub(now);
        let _ = match thread.key {
            (Class::Sleep, _) => write!(report(), " for {left} ns"),
            (Class::Join, other) => write!(report(), ", thread {other}"),
            (Class::Descriptors, fd) => write!(report(), ", {fd}"),
            (Class::Signal, _) => Ok(()),
            (_, address) => write!(report(), " at {address:#x}"),
        };
        if thread.deadline != NEVER && thread.key.0 != Class::Sleep {
            let _ = write!(report(), " for at most {left} ns");
        }
    }
    if let Some(owner) = mutex_owner(thread.key) {
        let _ = write!(report(), ", held by thread {owner}");
    }
    let _ = writeln!(report(), ", in {}", thread.call);
    if id == s.current {
        append_backtrace();
    } else {
        let me = s.current;
        s.threads[id as usize].reports_to = Some(me);
        s.current = id;
        let mine: *const _ = &*s.threads[me as usize];
        sys::futex_wake(&s.threads[id as usize].baton);
        baton::sleep(mine);
    }
}

/// Returns the thread that holds a pthread mutex, as glibc notes it.
unsafe fn mutex_owner(key: (Class, usize)) -> Option<u32> {
    if key.0 != Class::Mutex {
        return None;
    }
    let owner = *((key.1 + 8) as *const i32);
    let s = sim();
    let holder = s
        .threads
        .iter()
        .find(|thread| thread.tid == owner && owner != 0);
    holder.map(|thread| thread.id)
}

/// Writes the calls on the stack of the running thread, without those of this object.
pub unsafe fn append_backtrace() {
    let mut frames = [core::ptr::null_mut(); FRAMES];
    let count = c::backtrace(frames.as_mut_ptr(), frames.len() as i32);
    let frames = frames[..count as usize].iter();
    let frames: Vec<usize> = frames.map(|frame| *frame as usize).collect();
    for address in outside(&frames) {
        let _ = writeln!(report(), "    {}", Place(address));
    }
}

/// Returns addresses of the calls on a stack, without those of this object.
pub unsafe fn outside(stack: &[usize]) -> Vec<usize> {
    let mine = base_of(outside as *const () as usize);
    let others = stack.iter().filter(|address| base_of(**address) != mine);
    // A return address may belong to the line after the call.
    others.map(|address| address - 1).collect()
}

/// Returns the first address on the stack that is not in this object.
unsafe fn caller() -> usize {
    let mut frames = [core::ptr::null_mut(); 64];
    let count = c::backtrace(frames.as_mut_ptr(), frames.len() as i32);
    let mine = base_of(caller as *const () as usize);
    let mut addresses = frames[..count as usize].iter().map(|frame| *frame as usize);
    addresses
        .find(|address| base_of(*address) != mine)
        .map_or(0, |address| address - 1)
}

unsafe fn base_of(address: usize) -> usize {
    let mut info: c::DlInfo = core::mem::zeroed();
    c::dladdr(address as *const _, &mut info);
    info.base as usize
}

/// An address as file, offset and symbol.
struct Place(usize);

impl core::fmt::Display for Place {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // SAFETY: all fields may be zero, and `dladdr` fills them in.
        let mut info: c::DlInfo = unsafe { core::mem::zeroed() };
        // SAFETY: `dladdr` accepts any address.
        if unsafe { c::dladdr(self.0 as *const _, &mut info) } == 0 || info.file.is_null() {
            return write!(f, "{:#x}", self.0);
        }
        // SAFETY: `dladdr` returned strings that live as long as the object is loaded.
        let file = unsafe { CStr::from_ptr(info.file) }.to_string_lossy();
        write!(f, "{file}+{:#x}", self.0 - info.base as usize)?;
        if !info.symbol.is_null() {
            // SAFETY: as for the file.
            let symbol = unsafe { CStr::from_ptr(info.symbol) }.to_string_lossy();
            write!(f, " {symbol}")?;
        }
        Ok(())
    }
}
