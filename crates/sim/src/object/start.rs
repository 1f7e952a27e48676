//! The fork server.
//!
//! The program starts once. Before its `main`, it serves commands: each forks a child, which executes
//! `main` under simulation and inherits memory, libraries and addresses from the same state. The server
//! never runs the program itself and has one thread.
//!
//! Commands are single bytes on `COMMAND_FD`; the configuration is in the shared memory. The answer is
//! the status of `wait`, four bytes on `ANSWER_FD`. The end of the commands ends the server.
//!
//! # One filter for all runs
//!
//! The server installs the filter of system calls (`trap`) before the first command, and its children
//! inherit it. A filter for each run costs a quarter of a short run, and freeing thousands of filters under
//! load has brought kernels to a halt: the kernel frees each one in a worker of its own.
//!
//! So the filter holds for the server, too, which therefore calls the kernel only through `sys`, whose
//! instruction the filter lets pass. It also forks that way ([`Server::fork`]): libc's `fork` blocks all
//! signals around its own instruction, and a trap would end the process. A raw `clone` leaves out what
//! libc's `fork` does in the child. The child of a process with one thread needs two of these steps: its
//! thread's number where libc keeps it, and the kernel's list of its robust mutexes.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::alarms::Alarms;
use crate::atomics;
use crate::c::{self, Main, nr};
use crate::descriptors::Descriptors;
use crate::disk::{self, DISK_FD};
use crate::dispatch::CLONE;
use crate::end;
use crate::explain;
use crate::files;
use crate::identity;
use crate::loops;
use crate::outside;
use crate::shared::random::Random;
use crate::shared::region::{ANSWER_FD, COMMAND_FD, REGION_FD, Region, VERSION};
use crate::state::{self, NEVER, Simulation, Thread};
use crate::step;
use crate::strategy::Strategy;
use crate::sys;
use crate::thread;
use crate::trap;
use crate::tree::{self, Tree};
use crate::tsc;
use crate::vdso;
use crate::wires::Wires;

/// The variable without which this object does nothing.
const VARIABLE: &core::ffi::CStr = c"BLITZ_SIM";

static MAIN: AtomicUsize = AtomicUsize::new(0);

type LibcStart = unsafe extern "C" fn(
    Main,
    c_int,
    *mut *mut c_char,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_void,
) -> c_int;

#[unsafe(no_mangle)]
unsafe extern "C" fn __libc_start_main(
    main: Main,
    argc: c_int,
    argv: *mut *mut c_char,
    init: *mut c_void,
    fini: *mut c_void,
    rtld_fini: *mut c_void,
    stack_end: *mut c_void,
) -> c_int {
    let start: LibcStart = core::mem::transmute(crate::real::next(c"__libc_start_main"));
    MAIN.store(main as *const () as usize, Ordering::Relaxed);
    start(serve, argc, argv, init, fini, rtld_fini, stack_end)
}

unsafe extern "C" fn serve(argc: c_int, argv: *mut *mut c_char, envp: *mut *mut c_char) -> c_int {
    let main: Main = core::mem::transmute(MAIN.load(Ordering::Relaxed));
    if c::getenv(VARIABLE.as_ptr()).is_null() {
        return main(argc, argv, envp);
    }
    c::unsetenv(VARIABLE.as_ptr());
    c::unsetenv(c"LD_PRELOAD".as_ptr());
    if !c::getenv(files::VARIABLE.as_ptr()).is_null() {
        c::unsetenv(files::VARIABLE.as_ptr());
        put_files_into_memory();
    }
    if !c::getenv(outside::VARIABLE.as_ptr()).is_null() {
        c::unsetenv(outside::VARIABLE.as_ptr());
        outside::allow();
    }
    // Shared, readable and writable.
    let size = size_of::<Region>();
    let at = sys::call(nr::MMAP, [0, size, 3, 1, REGION_FD as usize, 0]);
    let region = at as *mut Region;
    if at < 0 || (*region).version != VERSION {
        sys::exit_group(125);
    }
    sys::call(nr::CLOSE, [REGION_FD as usize, 0, 0, 0, 0, 0]);
    // One arena: which one a thread gets would depend on time.
    c::mallopt(-8, 1);
    // The first backtrace loads a library.
    c::backtrace([core::ptr::null_mut(); 2].as_mut_ptr(), 2);
    let mut key = 0;
    c::pthread_key_create(&mut key, thread::ended);
    step::install(main as *const () as usize);
    let is_filtered = outside::is_allowed() || trap::install();
    if !outside::is_allowed() && is_filtered {
        vdso::replace();
    }
    (*region).instrumented = atomics::is_instrumented().into();
    let server = Server::new();
    let mut is_restart = false;
    loop {
        if !is_restart {
            next_command();
        }
        let child = server.fork();
        if child < 0 {
            sys::exit_group(126);
        }
        if child == 0 {
            for fd in [COMMAND_FD, ANSWER_FD] {
                sys::call(nr::CLOSE, [fd as usize, 0, 0, 0, 0, 0]);
            }
            begin(region, key);
            if !is_filtered {
                end::escaped(
                    "seccomp: the kernel refuses the filter",
                    serve as *const () as usize,
                );
            }
            return main(argc, argv, envp);
        }
        (*region).pid.store(child as u32, Ordering::Relaxed);
        let mut status = 0i32;
        // Ctrl-C at a debugger is not for this process.
        let debugged = (*region).pause != 0;
        let mut before = [0usize; 4];
        if debugged {
            let ignore = [1usize, 0, 0, 0];
            set_interrupt(&ignore, &mut before);
        }
        sys::call(61, [child as usize, &raw mut status as usize, 0, 0, 0, 0]);
        if debugged {
            set_interrupt(&before, &mut [0; 4]);
        }
        // After a crash, the program starts again on the files that are left.
        is_restart = core::mem::take(&mut (*region).restarts) != 0;
        if !is_restart {
            sys::call(
                nr::WRITE,
                [ANSWER_FD as usize, &raw const status as usize, 4, 0, 0, 0],
            );
        }
    }
}

/// Waits for a command. Ends the server if there is none any more.
unsafe fn next_command() {
    let mut command = 0u8;
    let got = sys::call(
        nr::READ,
        [COMMAND_FD as usize, &raw mut command as usize, 1, 0, 0, 0],
    );
    if got != 1 {
        sys::exit_group(0);
    }
    // No files of the run before.
    sys::call(nr::FTRUNCATE, [DISK_FD, 0, 0, 0, 0, 0]);
}

/// Makes the memory by which files survive a crash.
unsafe fn put_files_into_memory() {
    const DUP3: usize = nr::DUP3;
    const CLOEXEC: usize = 0o2_000_000;
    if let Some(fd) = tree::memory_file() {
        sys::call(DUP3, [fd, DISK_FD, CLOEXEC, 0, 0, 0]);
        sys::call(nr::CLOSE, [fd, 0, 0, 0, 0, 0]);
        files::turn_on();
    }
}

/// Parts of libc's state that a fork without libc must keep.
struct Server {
    /// The word in which libc keeps the number of this thread. The kernel clears it at the thread's end.
    tid: usize,
    /// The list of the thread's robust mutexes, and the size of its head.
    robust: [usize; 2],
}

impl Server {
    unsafe fn new() -> Server {
        const GET_TID_ADDRESS: usize = 40;
        const GET_ROBUST_LIST: usize = 274;
        let mut server = Server {
            tid: 0,
            robust: [0; 2],
        };
        let tid = &raw mut server.tid as usize;
        let answer = sys::call(nr::PRCTL, [GET_TID_ADDRESS, tid, 0, 0, 0, 0]);
        if answer < 0 {
            // A kernel that cannot say it.
            server.tid = tid_by_value();
        }
        let [head, size] = &mut server.robust;
        let (head, size) = (&raw mut *head as usize, &raw mut *size as usize);
        sys::call(GET_ROBUST_LIST, [0, head, size, 0, 0, 0]);
        server
    }

    /// Forks by the system call. Returns 0 in the child.
    unsafe fn fork(&self) -> c_int {
        const SIGCHLD: usize = 17;
        const CHILD_CLEARTID: usize = 0x20_0000;
        const CHILD_SETTID: usize = 0x100_0000;
        const SET_ROBUST_LIST: usize = 273;
        let mut flags = SIGCHLD;
        if self.tid != 0 {
            flags |= CHILD_SETTID | CHILD_CLEARTID;
        }
        let child = sys::call(usize::from(CLONE), [flags, 0, 0, self.tid, 0, 0]);
        if child == 0 {
            let [head, size] = self.robust;
            sys::call(SET_ROBUST_LIST, [head, size, 0, 0, 0, 0]);
        }
        child as c_int
    }
}

/// Finds the word with the number of this thread in libc's record of it: the first that has that value.
unsafe fn tid_by_value() -> usize {
    const WORDS: usize = 256;
    let record = c::pthread_self() as *const i32;
    let tid = sys::gettid();
    let found = (0..WORDS).find(|at| *record.add(*at) == tid);
    found.map_or(0, |at| record.add(at) as usize)
}

/// Sets what SIGINT does, in the kernel's form: handler, flags, restorer, mask.
unsafe fn set_interrupt(to: &[usize; 4], before: &mut [usize; 4]) {
    const RT_SIGACTION: usize = 13;
    const SIGINT: usize = 2;
    let (to, before) = (to.as_ptr() as usize, before.as_mut_ptr() as usize);
    sys::call(RT_SIGACTION, [SIGINT, to, before, 8, 0, 0]);
}

/// Begins a run in a new process.
unsafe fn begin(region: *mut Region, key: u32) {
    let configuration = &*region;
    let seed = configuration.seed;
    let start = u64::from(configuration.crashes) << 40;
    let mut entropy = Random(seed ^ start ^ 0xe47_0b1e);
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&entropy.next().to_le_bytes());
    bytes[8..].copy_from_slice(&entropy.next().to_le_bytes());
    identity::replace_random_bytes(bytes);
    let mut main = Thread::new(0, 0);
    main.tid = sys::gettid();
    main.pthread = c::pthread_self();
    let strategy = Strategy::new(configuration);
    c::pthread_setspecific(key, core::ptr::dangling());
    state::start(Simulation {
        region,
        threads: vec![Box::new(main)],
        live: vec![0],
        current: 0,
        now: configuration.now,
        jumped: 0,
        alarms: Alarms::default(),
        due: vec![],
        next_deadline: NEVER,
        dying: 0,
        strategy,
        entropy,
        // After a crash, the script continues at the next decision.
        at_script: {
            let script = &configuration.script[..configuration.scripted as usize];
            script.partition_point(|choice| choice.index < configuration.decided) as u32
        },
        clock_reads: 0,
        streak: 0,
        moved: configuration.points.load(Ordering::Relaxed),
        changed: configuration.points.load(Ordering::Relaxed),
        seen_changes: atomics::changes(),
        objects: Default::default(),
        places: Default::default(),
        queues: Default::default(),
        condition_clocks: Default::default(),
        barriers: Default::default(),
        descriptors: Descriptors::default(),
        files: Box::new(if files::is_on() {
            disk::load()
        } else {
            Tree::new()
        }),
        names: Default::default(),
        wires: Wires::default(),
        ending: vec![],
        has_left: false,
        keeps_starts: false,
        is_creating: false,
        next_judgement: configuration.points.load(Ordering::Relaxed) + explain::FIRST,
        finding: 0,
        explained: None,
        key,
    });
    if !outside::is_allowed() {
        tsc::install();
    }
    state::sim().runs();
    if configuration.atomics != 0 {
        atomics::turn_on();
    }
    loops::begin(&*region);
}
