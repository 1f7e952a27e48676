//! The stack of the calling thread.
//!
//! [`OwnStack::take`] walks the stack with the unwinder of the language. It allocates nothing and takes no lock of the program, so
//! functions that replace those of the C library may call it. To look names up, a program allocates and takes a lock: that is for a
//! report.

use std::env;

use crate::names::short;
use crate::origin::{Origin, origin};
use crate::own_call::{frames, named, own_call};
use crate::snapshot::Frame;

/// A longer stack is cut off: its outer calls are missing.
pub const FRAMES: usize = 64;

/// The calls of a thread at one moment, the innermost first.
#[derive(Clone, Copy, Debug)]
pub struct OwnStack {
    addresses: [usize; FRAMES],
    length: usize,
}

impl OwnStack {
    /// Returns the calls of this thread. Empty on systems where names of addresses cannot be looked up.
    #[must_use]
    pub fn take() -> Self {
        let mut stack = Self {
            addresses: [0; FRAMES],
            length: 0,
        };
        stack.walk();
        stack
    }

    #[cfg(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ))]
    fn walk(&mut self) {
        let add = |frame: &backtrace::Frame| {
            self.addresses[self.length] = frame.ip() as usize;
            self.length += 1;
            self.length < FRAMES
        };
        // SAFETY: the lock that this leaves out is for the look-up of names, and for systems other than this one.
        unsafe { backtrace::trace_unsynchronized(add) };
    }

    #[cfg(not(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )))]
    fn walk(&mut self) {}

    fn addresses(&self) -> &[usize] {
        &self.addresses[..self.length]
    }

    /// Returns the line of the innermost call that the program itself makes; see [`own_call`].
    #[must_use]
    pub fn own_call(&self) -> Option<String> {
        own_call(self.addresses())
    }

    /// Returns the calls that are not this library's and not std's: of each the function and, if it is known, its line.
    #[must_use]
    pub fn calls(&self) -> Vec<String> {
        let folder = env::current_dir().unwrap_or_default();
        let of = |address: &usize| frames(*address as u64);
        let of_program = self.addresses().iter().flat_map(of).filter(is_of_program);
        of_program
            .map(|frame| {
                let function = frame.function.clone();
                format!("{function}, at {}", named(frame, &folder))
            })
            .collect()
    }

    /// Returns `true` if the harness of Rust's tests has called the thread's function.
    #[must_use]
    pub fn is_of_test_harness(&self) -> bool {
        // From the outside: those are the outer calls.
        let mut addresses = self.addresses().iter().rev();
        addresses.any(|address| {
            let mut functions = frames(*address as u64).into_iter();
            functions.any(|frame| frame.function.starts_with("test::"))
        })
    }
}

/// Returns `true` for a call of the program or a package.
fn is_of_program(frame: &Frame) -> bool {
    let is_known = origin(&frame.function, &frame.location) <= Origin::Package;
    // The walk itself, whose functions have no path where they are inlined, and the C library, whose files have no folder of
    // their own.
    let is_below = frame.function.starts_with("backtrace::")
        || short(&frame.location).starts_with("backtrace-")
        || frame.location.starts_with("./");
    is_known && !is_below
}

#[cfg(all(
    test,
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod tests {
    use super::*;

    /// Returns the stack of this call, and its line. Without a path in its name, as it has where it is inlined and the program
    /// has line tables only, a function in this folder is the library's.
    #[inline(never)]
    fn called() -> (OwnStack, u32) {
        (OwnStack::take(), line!())
    }

    #[test]
    fn a_thread_finds_its_own_line_and_the_harness() {
        let (stack, line) = called();
        let place = stack.own_call().unwrap();
        assert!(place.ends_with(&format!("own_stack.rs:{line}")), "{place}");
        assert!(stack.is_of_test_harness());
        let calls = stack.calls();
        let own = calls.first().unwrap();
        assert!(own.contains("called") && own.contains(&place), "{calls:?}");
        let elsewhere = std::thread::spawn(OwnStack::take).join().unwrap();
        assert!(!elsewhere.is_of_test_harness());
    }
}
