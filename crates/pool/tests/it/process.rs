//! Tests of the whole process: its environment, the global pool, and aborts.

use std::env;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use blitz_io_pool::{ThreadPoolBuilder, current_num_threads, max_num_threads};

const CHILD: &str = "BLITZ_POOL_TEST";

/// Runs this very test in a process of its own. Returns `None` in that process.
fn in_own_process(name: &str, variables: &[(&str, &str)]) -> Option<Output> {
    if env::var_os(CHILD).is_some() {
        return None;
    }
    let output = blitz_io_testing::limited(&mut Command::new(env::current_exe().unwrap()))
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env_remove("RAYON_NUM_THREADS")
        .env_remove("RAYON_RS_NUM_CPUS")
        .env(CHILD, name)
        .envs(variables.iter().copied())
        .output();
    Some(output.unwrap())
}

/// Returns how many threads the global pool has in such an environment.
fn threads_with(name: &str, variables: &[(&str, &str)]) -> Option<usize> {
    let output = in_own_process(name, variables)?;
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}\n{said}", output.status);
    let threads = said.split("threads: ").nth(1).expect(&said);
    Some(threads.split_whitespace().next()?.parse().unwrap())
}

#[test]
fn the_environment_says_how_many_threads_a_pool_has() {
    let with = |variables| {
        threads_with(
            "process::the_environment_says_how_many_threads_a_pool_has",
            variables,
        )
    };
    let Some(default) = with(&[]) else {
        println!("threads: {} ", current_num_threads());
        let three = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert_eq!(three.current_num_threads(), 3);
        let again = ThreadPoolBuilder::new().build_global().unwrap_err();
        assert!(again.to_string().contains("already been initialized"));
        return;
    };
    assert_eq!(
        default,
        thread::available_parallelism().map_or(1, usize::from)
    );
    assert_eq!(with(&[("RAYON_NUM_THREADS", "5")]), Some(5));
    assert_eq!(with(&[("RAYON_NUM_THREADS", "0")]), Some(default));
    assert_eq!(with(&[("RAYON_NUM_THREADS", "-3")]), Some(default));
    assert_eq!(with(&[("RAYON_RS_NUM_CPUS", "4")]), Some(4));
    let both = [("RAYON_NUM_THREADS", "5"), ("RAYON_RS_NUM_CPUS", "4")];
    assert_eq!(with(&both), Some(5));
    assert!(default <= max_num_threads());
}

#[test]
fn a_detached_job_that_panics_without_a_handler_aborts_the_process() {
    let name = "process::a_detached_job_that_panics_without_a_handler_aborts_the_process";
    let Some(output) = in_own_process(name, &[]) else {
        blitz_io_pool::spawn(|| panic!("nobody waits for me"));
        // Ending normally would be a success of this process, and so a failure of the test.
        return thread::sleep(Duration::from_secs(60));
    };
    assert!(!output.status.success());
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(complained.contains("nobody waits for me"), "{complained}");
    assert!(
        complained.contains("there is no panic handler; aborting"),
        "{complained}"
    );
}

/// No address space has room for this.
#[cfg(all(unix, target_pointer_width = "64"))]
#[test]
fn a_thread_that_the_system_cannot_start_is_an_error() {
    let build = || {
        ThreadPoolBuilder::new()
            .num_threads(2)
            .stack_size(1 << 60)
            .build()
    };
    let error = build().unwrap_err();
    assert!(std::error::Error::source(&error).is_some(), "{error}");
    assert!(build().is_err(), "and again");
}
