//! The stacks of the threads that a report cannot explain: those that have been in one poll for long, and
//! those in a futex without a record.
//!
//! The look-up of names takes the lock of the crate `backtrace`, which a thread has only while it looks up
//! names itself.

use crate::snapshot::Snapshot;

/// Adds the stacks to a snapshot of this process, which was made just now.
pub(crate) fn add(snapshot: &mut Snapshot) {
    system::add(snapshot);
}

/// Returns the inspector's signal, as a mask of the system; 0 if there is none.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn signal() -> u64 {
    system::signal()
}

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod system {
    use std::ffi::c_void;
    use std::sync::{Mutex, PoisonError};
    use std::time::{Duration, Instant};

    use blitz_io_core::PerProcess;

    use crate::capture::capture;
    pub(super) use crate::capture::mask as signal;
    use crate::findings::is_long_poll;
    use crate::graph::is_unknown;
    use crate::snapshot::{Frame, Snapshot, Stack};
    use crate::unwind::callers;

    /// More threads are not asked.
    const THREADS: usize = 16;
    /// A thread that does not run within this time has no stack.
    const LIMIT: Duration = Duration::from_millis(250);
    /// The time limit for the stacks of all threads together.
    const LIMIT_OF_ALL: Duration = Duration::from_secs(1);

    /// Serialises the captures.
    static TURN: PerProcess<Mutex<()>> = PerProcess::new(Mutex::default);

    pub(super) fn add(snapshot: &mut Snapshot) {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let end = Instant::now() + LIMIT_OF_ALL;
        snapshot.stacks = threads(snapshot)
            .into_iter()
            .map(|(thread, system)| {
                let copied = capture(system, end.min(Instant::now() + LIMIT));
                let addresses = copied.map(|(registers, stack)| callers(registers, &stack));
                Stack {
                    thread,
                    frames: addresses
                        .iter()
                        .flatten()
                        .flat_map(|&a| frames(a))
                        .collect(),
                }
            })
            .collect();
    }

    /// Returns the threads whose stacks are wanted, and their numbers of the system.
    fn threads(snapshot: &Snapshot) -> Vec<(u64, u32)> {
        let tasks = snapshot.tasks.iter().filter(|task| is_long_poll(task));
        let waits = snapshot.waits.iter().filter(|wait| is_unknown(wait));
        let wanted = tasks
            .map(|task| task.thread)
            .chain(waits.map(|wait| wait.thread));
        let mut found: Vec<(u64, u32)> = Vec::new();
        for id in wanted {
            let thread = snapshot.threads.iter().find(|thread| thread.id == id);
            let system = thread.and_then(|thread| thread.system);
            if found.iter().all(|&(other, _)| other != id) {
                found.extend(system.map(|system| (id, system)));
            }
        }
        found.truncate(THREADS);
        found
    }

    /// Returns the function at this address, after those that the compiler has inlined there.
    fn frames(address: u64) -> Vec<Frame> {
        let mut found = Vec::new();
        backtrace::resolve(address as *mut c_void, |symbol| {
            let file = symbol.filename().zip(symbol.lineno());
            found.push(Frame {
                function: symbol
                    .name()
                    .map(|name| format!("{name:#}"))
                    .unwrap_or_default(),
                location: file
                    .map(|(file, line)| format!("{}:{line}", file.display()))
                    .unwrap_or_default(),
            });
        });
        if found.is_empty() {
            found.push(Frame {
                function: format!("{address:#x}"),
                location: String::new(),
            });
        }
        found
    }

    #[cfg(test)]
    mod tests {
        use std::sync::mpsc::{Sender, channel};
        use std::thread;

        use super::*;

        fn own_number() -> u32 {
            // SAFETY: the call has no preconditions.
            unsafe { libc::gettid() }.try_into().unwrap()
        }

        #[inline(never)]
        fn waits_here(lock: &Mutex<()>) {
            drop(std::hint::black_box(lock.lock().unwrap()));
        }

        fn tell_and_wait(number: &Sender<u32>, lock: &Mutex<()>) {
            number.send(own_number()).unwrap();
            waits_here(lock);
        }

        fn block_signals() {
            // SAFETY: all zeros is a valid set, and the pointers are to it.
            let result = unsafe {
                let mut all: libc::sigset_t = std::mem::zeroed();
                libc::sigfillset(&raw mut all);
                libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut())
            };
            assert_eq!(result, 0);
        }

        fn far() -> Instant {
            Instant::now() + Duration::from_secs(600)
        }

        #[test]
        fn a_thread_that_sleeps_has_a_stack_unless_it_blocks_signals() {
            let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
            let lock = Mutex::new(());
            let (number, numbers) = channel();
            let held = lock.lock().unwrap();
            thread::scope(|scope| {
                scope.spawn(|| tell_and_wait(&number, &lock));
                let sleeps = numbers.recv().unwrap();
                let is_there = || {
                    let (registers, stack) = capture(sleeps, far()).expect("it answers");
                    let found = callers(registers, &stack);
                    let mut functions = found.into_iter().flat_map(frames);
                    functions.any(|frame| frame.function.ends_with("waits_here"))
                };
                while !is_there() {
                    thread::yield_now();
                }
                scope.spawn(|| {
                    block_signals();
                    tell_and_wait(&number, &lock);
                });
                assert!(capture(numbers.recv().unwrap(), far()).is_none());
                assert!(
                    capture(sleeps, far()).is_some(),
                    "the other one still answers"
                );
                drop(held);
            });
            assert!(
                capture(u32::MAX, far()).is_none(),
                "there is no such thread"
            );
        }

        /// `exec` sets the action of a signal back to the default one, and a pending signal stays.
        #[test]
        fn a_signal_that_is_pending_at_exec_does_not_end_the_new_program() {
            let signal = crate::capture::signal().expect("this program has no handler of it");
            // SAFETY: the child makes system calls only.
            let child = unsafe { libc::fork() };
            if child == 0 {
                // SAFETY: the calls take numbers only. The last one ends this process without running
                // the exit handlers of the test harness.
                unsafe {
                    libc::signal(signal, libc::SIG_DFL);
                    libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::gettid(), signal);
                    libc::_exit(0);
                }
            }
            let mut status = 0;
            // SAFETY: `status` is a place for a number.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            assert!(libc::WIFEXITED(status), "signal {}", libc::WTERMSIG(status));
        }

        #[test]
        fn a_thread_finds_its_own_callers() {
            let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
            let (registers, stack) = capture(own_number(), far()).expect("it answers");
            let found = callers(registers, &stack);
            let mut functions = found.into_iter().flat_map(frames);
            assert!(functions.any(|frame| frame.function.contains("finds_its_own_callers")));
        }

        #[test]
        fn a_cut_off_stack_ends_early() {
            let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
            let (registers, stack) = capture(own_number(), far()).expect("it answers");
            let all = callers(registers, &stack).len();
            assert!(all > 2, "{all}");
            for length in [0, 1, 8, 64, 200] {
                let some = callers(registers, &stack[..length.min(stack.len())]).len();
                assert!((1..=all).contains(&some), "{some} of {all}");
            }
            // Not the address of a function.
            let nowhere = crate::unwind::Registers { pc: 7, ..registers };
            assert_eq!(callers(nowhere, &stack), [7]);
        }
    }
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
mod system {
    use crate::snapshot::Snapshot;

    pub(super) fn add(_: &mut Snapshot) {}

    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) fn signal() -> u64 {
        0
    }
}
