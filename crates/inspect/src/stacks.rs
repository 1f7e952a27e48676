//! The stacks of the threads that a report cannot explain: those that have been in one poll for long, those in a
//! futex without a record, and those that hold what another thread or task has wanted for long.
//!
//! By default, no thread notices that it is looked at: `outside.rs` has what the system shows of a thread that
//! sleeps. At the client's request, each thread gets a signal and copies its stack itself (`capture.rs`).
//!
//! The look-up of names takes the lock of the crate `backtrace`, which a thread has only while it looks up
//! names itself.

use crate::snapshot::Snapshot;

/// The source of the stacks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// The system shows them, of threads that sleep. No thread notices it.
    Outside,
    /// Each thread copies its own when it gets a signal. System calls may fail with `EINTR`.
    Signals,
    /// None: only what the threads do that are in long polls, as the system says.
    States,
}

/// Adds the stacks to a snapshot of this process, which was made just now.
pub(crate) fn add(snapshot: &mut Snapshot, way: Way) {
    system::add(snapshot, way);
}

/// Returns the inspector's signal, as a mask of the system; 0 if there is none.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn signal() -> u64 {
    system::signal()
}

/// Returns `true` if a thread sleeps in a call of a function whose path begins so; `false` also if the system does not tell.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn is_in(system: u32, function: &str) -> bool {
    system::is_in(system, function)
}

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod system {
    use std::sync::{Mutex, PoisonError};
    use std::time::{Duration, Instant};

    use blitz_io_core::PerProcess;

    use crate::capture::capture;
    pub(super) use crate::capture::mask as signal;
    use crate::frames::frames;
    use crate::graph::is_unknown;
    use crate::long_poll::in_long_poll;
    use crate::origin::{Origin, origin};
    use crate::outside::{Seen, look, state_of};
    use crate::snapshot::{Frame, Snapshot, Stack, Waiter};
    use crate::unwind::callers;

    use super::Way;

    /// The holder of an object matters when a wait for it has lasted so many milliseconds.
    const LONG_WAIT: u64 = 1_000;
    /// More threads are not asked.
    const THREADS: usize = 16;
    /// A thread that does not run within this time has no stack.
    const LIMIT: Duration = Duration::from_millis(250);
    /// The time limit for the stacks of all threads together.
    const LIMIT_OF_ALL: Duration = Duration::from_secs(1);

    /// Serialises the captures.
    static TURN: PerProcess<Mutex<()>> = PerProcess::new(Mutex::default);

    pub(super) fn add(snapshot: &mut Snapshot, way: Way) {
        if way == Way::States {
            snapshot.stacks = states(snapshot);
            return;
        }
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let end = Instant::now() + LIMIT_OF_ALL;
        snapshot.stacks = threads(snapshot)
            .into_iter()
            .map(|(thread, system)| {
                let Seen { state, stack } = look(system);
                let (copied, refused) = match way {
                    Way::Outside | Way::States => (stack, None),
                    Way::Signals => match capture(system, end.min(Instant::now() + LIMIT)) {
                        Ok(copied) => (Some(copied), Some(String::new())),
                        Err(reason) => (stack, Some(format!("not the whole stack: {reason}"))),
                    },
                };
                let addresses = copied.map(|(registers, stack)| callers(registers, &stack));
                let frames = addresses.iter().flatten().flat_map(|&a| frames(a));
                let frames: Vec<Frame> = frames.collect();
                Stack {
                    thread,
                    missing: refused.unwrap_or_else(|| without_signal(&state, &frames)),
                    frames,
                    state,
                }
            })
            .collect();
        if !snapshot.stacks.is_empty() {
            // The tables of the program and its libraries take tens of megabytes, and the next question may never come.
            backtrace::clear_symbol_cache();
        }
    }

    pub(super) fn is_in(system: u32, function: &str) -> bool {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((registers, stack)) = look(system).stack else {
            return false;
        };
        let mut calls = callers(registers, &stack).into_iter().flat_map(frames);
        let found = calls.any(|frame| frame.function.starts_with(function));
        backtrace::clear_symbol_cache();
        found
    }

    /// Returns what the threads in long polls do, without their functions.
    fn states(snapshot: &Snapshot) -> Vec<Stack> {
        let threads = in_long_poll(snapshot).map(|task| task.thread);
        let threads = of_system(snapshot, threads).into_iter();
        let state = |(thread, system)| Stack {
            thread,
            state: state_of(system),
            ..Stack::default()
        };
        threads.map(state).collect()
    }

    /// Says why a stack that was read from outside may have no more functions.
    fn without_signal(state: &str, frames: &[Frame]) -> String {
        let is_of_program =
            |frame: &Frame| origin(&frame.function, &frame.location) == Origin::Program;
        let reason = if !state.starts_with("sleeps in") {
            "the system shows no stack of a thread that runs"
        } else if frames.iter().any(is_of_program) {
            "what the system shows without a signal to the thread"
        } else {
            "cut off here, before a function of the program: the system shows no more without a signal to the thread"
        };
        format!("{reason}; `blitz why --stacks` sends one")
    }

    /// Returns the threads whose stacks are wanted, and their numbers of the system.
    fn threads(snapshot: &Snapshot) -> Vec<(u64, u32)> {
        let tasks = in_long_poll(snapshot);
        let waits = snapshot.waits.iter().filter(|wait| is_unknown(wait));
        let wanted = tasks
            .map(|task| task.thread)
            .chain(waits.map(|wait| wait.thread))
            .chain(holders(snapshot));
        of_system(snapshot, wanted)
    }

    /// Returns each of these threads once, with its number of the system.
    fn of_system(snapshot: &Snapshot, wanted: impl Iterator<Item = u64>) -> Vec<(u64, u32)> {
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

    /// Returns the threads that hold an object for which a wait has lasted, or run a closure that does.
    fn holders(snapshot: &Snapshot) -> impl Iterator<Item = u64> + '_ {
        let lasting = snapshot
            .waits
            .iter()
            .filter(|wait| wait.waiting_ms >= LONG_WAIT);
        let holders = lasting.filter_map(|wait| wait.object.as_ref()?.holder);
        holders.filter_map(|holder| match holder {
            Waiter::Thread(thread) => Some(thread),
            Waiter::Task(id) => snapshot.job(id)?.thread,
            Waiter::Process(_) => None,
        })
    }

    #[cfg(test)]
    mod tests {
        use std::ffi::c_void;
        use std::os::fd::AsRawFd;
        use std::os::unix::net::UnixStream;
        use std::sync::mpsc::{Sender, channel};
        use std::thread;

        use blitz_io_observe::Kind;

        use super::*;
        use crate::proc_files::runs;
        use crate::snapshot::{Thread, Wait};

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
        fn a_stack_without_a_function_of_the_program_says_that_it_is_cut_off() {
            let frame = |function: &str, location: &str| Frame {
                function: function.into(),
                location: location.into(),
            };
            let mut frames = vec![frame("std::thread::functions::sleep", "")];
            let text = |frames: &[Frame]| without_signal("sleeps in clock_nanosleep", frames);
            assert!(text(&frames).starts_with("cut off here"));
            frames.push(frame("orders::burn", "/orders/src/lib.rs:120"));
            assert!(text(&frames).starts_with("what the system shows"));
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
                let blocks = capture(numbers.recv().unwrap(), far());
                assert_eq!(blocks.err(), Some("it blocks the signal"));
                assert!(
                    capture(sleeps, far()).is_ok(),
                    "the other one still answers"
                );
                drop(held);
            });
            assert!(capture(u32::MAX, far()).is_err(), "there is no such thread");
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

        /// A wait of a thread that no report explains.
        fn unexplained(thread: u64) -> Wait {
            Wait {
                thread,
                is_timed: true,
                blocks_thread: true,
                is_direct: false,
                ..Wait::example(thread, Waiter::Thread(thread), Kind::UnknownFutex)
            }
        }

        static HOUR: libc::timespec = libc::timespec {
            tv_sec: 3600,
            tv_nsec: 0,
        };

        fn read_with_timeout() {
            let (stream, _other) = UnixStream::pair().unwrap();
            stream
                .set_read_timeout(Some(Duration::from_secs(3600)))
                .unwrap();
            let mut byte = [0];
            // SAFETY: the descriptor is open, and the pointer is to one byte.
            unsafe { libc::recv(stream.as_raw_fd(), byte.as_mut_ptr().cast(), 1, 0) };
        }

        fn nanosleep() {
            // SAFETY: the pointers are to a time and to nothing.
            unsafe { libc::nanosleep(&raw const HOUR, std::ptr::null_mut()) };
        }

        fn poll() {
            // SAFETY: there are no descriptors.
            unsafe { libc::poll(std::ptr::null_mut(), 0, 3_600_000) };
        }

        fn epoll_wait() {
            // SAFETY: the pointer is to one event.
            unsafe {
                let epoll = libc::epoll_create1(0);
                let mut event: libc::epoll_event = std::mem::zeroed();
                libc::epoll_wait(epoll, &raw mut event, 1, 3_600_000);
            }
        }

        fn sem_timedwait() {
            // SAFETY: the semaphore is initialised before it is used, and the pointers are to values.
            unsafe {
                let mut semaphore: libc::sem_t = std::mem::zeroed();
                libc::sem_init(&raw mut semaphore, 0, 0);
                let mut end: libc::timespec = std::mem::zeroed();
                libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut end);
                end.tv_sec += 3600;
                libc::sem_timedwait(&raw mut semaphore, &raw const end);
            }
        }

        /// Such a call fails with `EINTR` if its thread gets a signal. A thread that has not run has not
        /// returned from its call.
        #[test]
        fn no_system_call_ends_early_because_a_report_is_made() {
            let calls: [(fn(), &str); 5] = [
                (read_with_timeout, "recvfrom"),
                (nanosleep, "nanosleep"),
                (poll, "poll"),
                (epoll_wait, "epoll_"),
                (sem_timedwait, "futex"),
            ];
            let (number, numbers) = channel();
            let mut snapshot = Snapshot::default();
            for (id, (call, name)) in (1..).zip(calls) {
                let number = number.clone();
                // It ends with the process.
                thread::spawn(move || {
                    number.send(own_number()).unwrap();
                    call();
                });
                let system = numbers.recv().unwrap();
                while !look(system).state.contains(name) {
                    thread::yield_now();
                }
                snapshot.threads.push(Thread {
                    id,
                    name: name.into(),
                    system: Some(system),
                    has_ended: false,
                });
                snapshot.waits.push(unexplained(id));
            }
            let has_run = |snapshot: &Snapshot| -> Vec<u64> {
                let system = snapshot.threads.iter().filter_map(|thread| thread.system);
                let folders = system.map(|thread| format!("/proc/self/task/{thread}"));
                folders
                    .map(|folder| runs(folder.as_ref()).unwrap())
                    .collect()
            };
            let before = has_run(&snapshot);
            add(&mut snapshot, Way::Outside);
            assert_eq!(has_run(&snapshot), before);
            for (stack, (_, name)) in snapshot.stacks.iter().zip(calls) {
                assert!(stack.state.contains(name), "{stack:?}");
                assert!(!stack.frames.is_empty(), "{stack:?}");
                assert!(stack.missing.contains("--stacks"), "{stack:?}");
            }
            assert_eq!(snapshot.stacks.len(), calls.len());
        }

        #[test]
        fn the_stack_of_a_thread_that_sleeps_is_read_without_a_signal() {
            let lock = Mutex::new(());
            let (number, numbers) = channel();
            let held = lock.lock().unwrap();
            thread::scope(|scope| {
                scope.spawn(|| tell_and_wait(&number, &lock));
                let sleeps = numbers.recv().unwrap();
                let is_there = || {
                    let (registers, stack) = look(sleeps).stack?;
                    let mut functions = callers(registers, &stack).into_iter().flat_map(frames);
                    functions.find(|frame| frame.function.ends_with("waits_here"))
                };
                while is_there().is_none() {
                    thread::yield_now();
                }
                drop(held);
            });
        }

        /// The filter ends the process at `process_vm_readv`, which the handler of the signal calls.
        #[test]
        fn a_thread_with_a_filter_of_system_calls_gets_no_signal() {
            let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
            let lock = Mutex::new(());
            let (number, numbers) = channel();
            let held = lock.lock().unwrap();
            thread::scope(|scope| {
                scope.spawn(|| {
                    forbid(libc::SYS_process_vm_readv);
                    tell_and_wait(&number, &lock);
                });
                let reason = capture(numbers.recv().unwrap(), far()).err();
                assert!(reason.is_some_and(|reason| reason.contains("seccomp")));
                drop(held);
            });
        }

        /// Ends the process at this system call of the thread.
        fn forbid(call: libc::c_long) {
            const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
            const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
            const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
            let step = |code, jf, k| libc::sock_filter { code, jt: 0, jf, k };
            let mut steps = [
                step(LOAD, 0, 0),
                step(EQUAL, 1, u32::try_from(call).unwrap()),
                step(RETURN, 0, libc::SECCOMP_RET_KILL_PROCESS),
                step(RETURN, 0, libc::SECCOMP_RET_ALLOW),
            ];
            let program = libc::sock_fprog {
                len: 4,
                filter: steps.as_mut_ptr(),
            };
            let filter = (&raw const program).cast::<c_void>();
            // SAFETY: the filter has as many steps as it says, and the system copies them.
            let result = unsafe {
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
                libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, filter)
            };
            assert_eq!(result, 0);
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

    pub(super) fn add(_: &mut Snapshot, _: super::Way) {}

    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) fn signal() -> u64 {
        0
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) fn is_in(_: u32, _: &str) -> bool {
        false
    }
}
