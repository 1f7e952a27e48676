//! The fork server.
//!
//! The program starts once. Before its `main`, it serves commands: each forks a child, which executes
//! `main` under simulation and inherits memory, libraries and addresses from the same state. The server
//! never runs the program itself and has one thread.
//!
//! Commands are single bytes on `COMMAND_FD`; the configuration is in the shared memory. The answer is
//! the status of `wait`, four bytes on `ANSWER_FD`. The end of the commands ends the server.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::c::{self, Main, nr};
use crate::descriptors::Descriptors;
use crate::identity;
use crate::outside;
use crate::real::real;
use crate::shared::random::Random;
use crate::shared::region::{ANSWER_FD, COMMAND_FD, REGION_FD, Region, VERSION};
use crate::state::{self, NEVER, Simulation, Thread};
use crate::strategy::Strategy;
use crate::sys;
use crate::thread;
use crate::trap;
use crate::tsc;
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
    loop {
        let mut command = 0u8;
        let got = sys::call(
            nr::READ,
            [COMMAND_FD as usize, &raw mut command as usize, 1, 0, 0, 0],
        );
        if got != 1 {
            sys::exit_group(0);
        }
        let fork = real!("fork", fn() -> c_int);
        let child = fork();
        if child == 0 {
            for fd in [COMMAND_FD, ANSWER_FD] {
                sys::call(nr::CLOSE, [fd as usize, 0, 0, 0, 0, 0]);
            }
            begin(region, key);
            return main(argc, argv, envp);
        }
        (*region).pid.store(child as u32, Ordering::Relaxed);
        let mut status = 0i32;
        sys::call(61, [child as usize, &raw mut status as usize, 0, 0, 0, 0]);
        sys::call(
            nr::WRITE,
            [ANSWER_FD as usize, &raw const status as usize, 4, 0, 0, 0],
        );
    }
}

/// Begins a run in a new process.
unsafe fn begin(region: *mut Region, key: u32) {
    let configuration = &*region;
    let seed = configuration.seed;
    let mut entropy = Random(seed ^ 0xe47_0b1e);
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&entropy.next().to_le_bytes());
    bytes[8..].copy_from_slice(&entropy.next().to_le_bytes());
    identity::replace_random_bytes(bytes);
    let mut main = Thread::new(0);
    main.tid = sys::gettid();
    main.pthread = c::pthread_self();
    let strategy = Strategy::new(
        configuration.strategy,
        configuration.depth,
        configuration.length,
        seed,
    );
    c::pthread_setspecific(key, core::ptr::dangling());
    state::start(Simulation {
        region,
        threads: vec![Box::new(main)],
        live: vec![0],
        current: 0,
        now: 0,
        next_deadline: NEVER,
        dying: 0,
        strategy,
        entropy,
        at_script: 0,
        clock_reads: 0,
        streak: 0,
        objects: Default::default(),
        queues: Default::default(),
        condition_clocks: Default::default(),
        barriers: Default::default(),
        descriptors: Descriptors::default(),
        wires: Wires::default(),
        key,
    });
    if !outside::is_allowed() {
        tsc::install();
        trap::install();
    }
}
