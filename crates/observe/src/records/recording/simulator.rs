//! The simulator of `blitz sim`, which runs a program with an object loaded before it. The object has functions for the
//! program: two take the functions by which the program explains a deadlock and judges its waits, and others list the threads that a test has
//! left.

use std::ffi::{CStr, c_char, c_void};
use std::mem::transmute;
use std::slice;

/// Takes a part of a report, as a pointer to its bytes and their number.
pub type Write = unsafe extern "C" fn(*const u8, usize);

/// Writes a report about threads. They are given by a pointer to the system's numbers for them, and their count.
pub type Explain = unsafe extern "C" fn(*const u32, usize, Write);

/// Judges the waits of a program whose threads may run. The number is [`JUDGE_REPORT`] or [`JUDGE_FINDING`].
pub type Judge = unsafe extern "C" fn(u32, Write);

/// A [`Judge`] writes a report.
pub const JUDGE_REPORT: u32 = 0;
/// A [`Judge`] writes eight bytes, which name a finding that is certain; zeros if there is none.
pub const JUDGE_FINDING: u32 = 1;

/// Returns `true` if the program runs under `blitz sim`.
pub fn is_simulated() -> bool {
    system::object().is_some()
}

/// Gives the simulator, if there is one, the function that it calls when no thread can run any more.
pub fn explain_deadlocks_by(explain: Explain) {
    if let Some(take) = system::object() {
        // SAFETY: the object keeps the function, which is valid as long as the process lives.
        unsafe { take(explain) };
    }
}

/// Gives the simulator, if there is one that asks, the function that it calls in a copy of the process while threads may run.
pub fn judge_by(judge: Judge) {
    if let Some(take) = function(c"blitz_sim_judges") {
        // SAFETY: the object's function of this name has this type, and keeps the function, which is valid as long as the
        // process lives.
        unsafe { transmute::<*mut c_void, unsafe extern "C" fn(Judge)>(take)(judge) };
    }
}

/// Says that the current thread stays on purpose, for all of the process: a test that has started it has not left it.
pub fn serves_process() {
    if let Some(serves) = function(c"blitz_sim_serves") {
        // SAFETY: the object's function of this name has this type, and no preconditions.
        unsafe { transmute::<*mut c_void, unsafe extern "C" fn()>(serves)() };
    }
}

/// The threads that a test starts, under the simulator.
#[derive(Debug)]
pub struct TestThreads {
    /// Number of the first one.
    first: u32,
    ended: TestEnded,
}

/// A thread that a test has left.
#[derive(Debug)]
pub struct LeftThread {
    /// The simulator's number for it.
    pub number: u32,
    /// Its name, or an empty string.
    pub name: String,
    /// Addresses of the calls by which it was started, the innermost first.
    pub started_at: Vec<usize>,
}

impl TestThreads {
    /// Begins a test on the current thread. Returns `None` if no simulator knows the threads.
    pub fn begin() -> Option<Self> {
        let begins = function(c"blitz_sim_test_begins")?;
        let ended = function(c"blitz_sim_test_ended")?;
        // SAFETY: the object's functions of these names have these types, and the first has no preconditions.
        unsafe {
            let begins = transmute::<*mut c_void, unsafe extern "C" fn() -> u32>(begins);
            Some(Self {
                first: begins(),
                ended: transmute::<*mut c_void, TestEnded>(ended),
            })
        }
    }

    /// Lets the other threads run until each of them waits. Returns those that the test has left.
    pub fn end(self) -> Vec<LeftThread> {
        let mut left = Vec::new();
        // SAFETY: the function passes the pointer on to `keep`, which takes it for one to such a list.
        unsafe { (self.ended)(self.first, (&raw mut left).cast(), keep) };
        left
    }
}

/// Takes a thread: its number, its name, and the addresses of calls with their count.
type Take = unsafe extern "C" fn(*mut c_void, u32, *const c_char, *const usize, usize);
/// Gives each thread that is left, of those with at least this number, to the function, with the pointer.
type TestEnded = unsafe extern "C" fn(u32, *mut c_void, Take);

/// Adds a thread to a list.
unsafe extern "C" fn keep(
    left: *mut c_void,
    number: u32,
    name: *const c_char,
    addresses: *const usize,
    count: usize,
) {
    // SAFETY: `end` has given this pointer, and uses the list only when the object's function has returned.
    let left = unsafe { &mut *left.cast::<Vec<LeftThread>>() };
    // SAFETY: the name ends with a 0, and there are this many addresses.
    let (name, started_at) = unsafe {
        (
            CStr::from_ptr(name),
            slice::from_raw_parts(addresses, count),
        )
    };
    left.push(LeftThread {
        number,
        name: name.to_string_lossy().into_owned(),
        started_at: started_at.to_vec(),
    });
}

/// The object's function that takes an [`Explain`].
type TakeExplain = unsafe extern "C" fn(Explain);

/// Returns the object's function of a name, if there is an object.
fn function(name: &CStr) -> Option<*mut c_void> {
    system::object()?;
    system::find(name)
}

// The simulator's systems. Programs that are linked statically have no objects.
#[cfg(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_env = "gnu",
    not(target_feature = "crt-static")
))]
mod system {
    use std::ffi::{CStr, c_void};
    use std::mem::transmute;
    use std::sync::OnceLock;

    use super::TakeExplain;

    pub(super) fn object() -> Option<TakeExplain> {
        static FOUND: OnceLock<Option<TakeExplain>> = OnceLock::new();
        *FOUND.get_or_init(|| {
            let found = find(c"blitz_sim_explains")?;
            // SAFETY: only the object has a function of this name, and its type is this one.
            Some(unsafe { transmute::<*mut c_void, TakeExplain>(found) })
        })
    }

    pub(super) fn find(name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the name ends with a 0.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        (!found.is_null()).then_some(found)
    }
}

#[cfg(not(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_env = "gnu",
    not(target_feature = "crt-static")
)))]
mod system {
    use std::ffi::{CStr, c_void};

    pub(super) fn object() -> Option<super::TakeExplain> {
        None
    }

    pub(super) fn find(_: &CStr) -> Option<*mut c_void> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_simulated_has_no_threads_of_tests() {
        assert!(TestThreads::begin().is_none());
        serves_process();
    }

    #[test]
    fn a_thread_that_is_left_has_its_name_and_the_calls_that_started_it() {
        let mut left = Vec::<LeftThread>::new();
        // SAFETY: the pointers are to a list, a name that ends with a 0, and two addresses.
        unsafe {
            keep(
                (&raw mut left).cast(),
                7,
                c"some".as_ptr(),
                [1, 2].as_ptr(),
                2,
            )
        };
        let [thread] = &left[..] else {
            panic!("{left:?}")
        };
        assert_eq!((thread.number, &*thread.name), (7, "some"));
        assert_eq!(thread.started_at, [1, 2]);
    }
}
