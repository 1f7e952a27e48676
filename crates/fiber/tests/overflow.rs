//! A fiber that overflows its stack ends the process, with a message. Each test runs this
//! program again, as the process that ends.
#![cfg(unix)]

use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

use blitz_io::fiber;
use blitz_io::runtime::{Builder, Runtime};
use blitz_io::sync::oneshot;

/// Runs a test of this program alone, as the child process of a test.
fn run_child(test: &str) -> Output {
    let program = std::env::current_exe().unwrap();
    blitz_io_testing::limited(&mut Command::new(program))
        .args(["--exact", test, "--include-ignored", "--nocapture"])
        .env("BLITZ_OVERFLOW", "1")
        .output()
        .unwrap()
}

fn is_child() -> bool {
    std::env::var_os("BLITZ_OVERFLOW").is_some()
}

#[allow(unconditional_recursion)]
fn recurse(depth: usize) -> usize {
    let local = black_box([depth; 64]);
    recurse(depth + 1) + black_box(local)[0]
}

fn check(output: &Output, message: &str) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{errors}");
    assert!(errors.contains(message), "{errors}");
}

#[test]
fn the_message_names_a_fiber_of_the_runtime() {
    if !is_child() {
        let output = run_child("the_message_names_a_fiber_of_the_runtime");
        return check(&output, "fiber 'deep' has overflowed its stack of 1");
    }
    let runtime = Runtime::new().unwrap();
    let builder = fiber::Builder::new().name("deep").stack_size(100_000);
    let fiber = builder.spawn_on(|| recurse(0), runtime.handle()).unwrap();
    _ = runtime.block_on(fiber);
}

#[test]
fn the_innermost_fiber_is_named() {
    if !is_child() {
        let output = run_child("the_innermost_fiber_is_named");
        return check(&output, "fiber '<unnamed>' has overflowed its stack of ");
    }
    let outer = fiber::Builder::new().name("outer");
    let outer = outer.run(|| {
        fiber::yield_now();
        fiber::block_on(fiber::run(|| recurse(0)))
    });
    fiber::block_on(outer.unwrap());
}

#[test]
fn an_overflow_of_a_thread_is_reported_as_before() {
    if !is_child() {
        let output = run_child("an_overflow_of_a_thread_is_reported_as_before");
        return check(
            &output,
            "has overflowed its stack\nfatal runtime error: stack overflow",
        );
    }
    fiber::block_on(fiber::run(|| ()));
    recurse(0);
}

#[test]
fn another_fault_in_a_fiber_is_a_fault() {
    if !is_child() {
        let output = run_child("another_fault_in_a_fiber_is_a_fault");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{errors}");
        return;
    }
    fiber::block_on(fiber::run(|| {
        // SAFETY: none: the write must fault, and ends the child process.
        unsafe { std::ptr::without_provenance_mut::<u8>(black_box(16)).write_volatile(1) };
    }));
}

/// As a function does that has a large local array and was compiled without stack probes.
#[test]
fn a_large_array_does_not_reach_the_stack_of_another_fiber() {
    if !is_child() {
        let output = run_child("a_large_array_does_not_reach_the_stack_of_another_fiber");
        return check(&output, "fiber 'array' has overflowed its stack of ");
    }
    let builder = fiber::Builder::new().name("array");
    let fiber = builder.guard_size(fiber::MAX_GUARD_SIZE).run(|| {
        let local = black_box(0_u8);
        for distance in [320 << 10, 640 << 10, 1 << 20] {
            let address = (&raw const local).expose_provenance() - distance;
            // SAFETY: none: the write must fault, and ends the child process.
            unsafe { std::ptr::with_exposed_provenance_mut::<u8>(address).write_volatile(1) };
        }
    });
    fiber::block_on(fiber.unwrap());
}

#[test]
fn a_fiber_without_memory_for_its_stack_panics() {
    if !is_child() {
        let output = run_child("a_fiber_without_memory_for_its_stack_panics");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let message = "no stack of 1073741824 bytes for the fiber 'large': ";
        return assert!(errors.contains(message), "{errors}");
    }
    let limit = libc::rlimit {
        rlim_cur: 8 << 30,
        rlim_max: 8 << 30,
    };
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    // SAFETY: the limit is a value on this stack.
    let limited = unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
    assert_eq!(limited, 0);
    let large = || {
        let builder = fiber::Builder::new().name("large");
        let builder = builder.stack_size(fiber::MAX_STACK_SIZE);
        let (begun, begins) = oneshot::channel();
        let fiber = builder.spawn(move || {
            begun.send(()).unwrap();
            fiber::block_on(std::future::pending::<()>());
        });
        (fiber.unwrap(), begins)
    };
    runtime.block_on(async {
        for _ in 0..8 {
            let (fiber, begins) = large();
            if begins.await.is_err() {
                assert!(fiber.await.unwrap_err().is_panic());
                // Smaller ones can still be had.
                return assert_eq!(fiber::spawn(|| 1).await.unwrap(), 1);
            }
        }
        panic!("there is no limit");
    });
}

/// A thread that was not made by Rust has no alternate stack.
#[test]
fn a_foreign_thread_gets_a_stack_for_signals() {
    extern "C" fn run(_: *mut libc::c_void) -> *mut libc::c_void {
        let fiber = fiber::Builder::new().name("foreign").run(|| recurse(0));
        fiber::block_on(fiber.unwrap());
        std::ptr::null_mut()
    }

    if !is_child() {
        let output = run_child("a_foreign_thread_gets_a_stack_for_signals");
        return check(&output, "fiber 'foreign' has overflowed its stack of ");
    }
    // SAFETY: the function is of the right type, and the thread is joined.
    unsafe {
        let mut thread = std::mem::zeroed();
        let created =
            libc::pthread_create(&raw mut thread, std::ptr::null(), run, std::ptr::null_mut());
        assert_eq!(created, 0);
        libc::pthread_join(thread, std::ptr::null_mut());
    }
}
