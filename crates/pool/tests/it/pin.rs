//! Threads that are bound to cores, and cores that a process may not use.

use blitz_io_pool::{Pin, ThreadPoolBuilder};

#[test]
fn a_core_that_is_not_there_and_a_list_without_cores_are_errors() {
    let build = |list| ThreadPoolBuilder::new().pin(Pin::List(list)).build();
    let error = build(vec![4096]).unwrap_err().to_string();
    assert!(error.contains("core 4096 is not among"), "{error}");
    let error = build(vec![]).unwrap_err().to_string();
    assert!(error.contains("empty"), "{error}");
}

#[test]
fn pools_of_each_kind_work() {
    for pin in [Pin::None, Pin::Cores] {
        let pool = ThreadPoolBuilder::new()
            .num_threads(3)
            .pin(pin)
            .build()
            .unwrap();
        assert_eq!(pool.join(|| 1, || 2), (1, 2));
    }
}

/// Linux keeps a set of cores for each thread, which a new thread inherits. The sets that
/// `taskset` and a control group set for a process are read there.
#[cfg(target_os = "linux")]
mod allowed {
    use std::{iter, thread};

    use core_affinity::CoreId;

    use super::*;

    /// The cores that the calling thread may use.
    fn cores() -> Vec<usize> {
        let cores = core_affinity::get_core_ids().unwrap();
        cores.into_iter().map(|core| core.id).collect()
    }

    /// Runs `test` in a thread that may use one core, and tells it which.
    fn with_one_core(test: impl FnOnce(usize) + Send) {
        let core = cores()[0];
        let limited = || {
            assert!(core_affinity::set_for_current(CoreId { id: core }));
            test(core);
        };
        thread::scope(|scope| scope.spawn(limited).join()).unwrap();
    }

    #[test]
    fn each_thread_runs_on_its_own_core_from_the_first_again_at_the_end() {
        let all = cores();
        let threads = all.len() + 1;
        let build = |pin| {
            let pool = ThreadPoolBuilder::new().num_threads(threads).pin(pin);
            pool.build().unwrap()
        };
        let expected: Vec<_> = all.iter().chain(iter::once(&all[0])).copied().collect();
        let listed = build(Pin::List(all)).broadcast(|_| cores());
        assert_eq!(listed.concat(), expected);
        // Hyper-threads come last, so the order may differ.
        let mut chosen = build(Pin::Cores).broadcast(|_| cores()).concat();
        assert_eq!(chosen.first(), chosen.last());
        chosen.sort_unstable();
        let mut sorted = expected;
        sorted.sort_unstable();
        assert_eq!(chosen, sorted);
    }

    #[test]
    fn a_core_that_is_there_but_not_allowed_is_an_error_that_says_which_are() {
        let all = cores();
        with_one_core(|mine| {
            let other = all.into_iter().find(|&core| core != mine);
            let other = other.unwrap_or(mine + 1);
            let wanted = Pin::List(vec![mine, other]);
            let error = ThreadPoolBuilder::new().pin(wanted).build().unwrap_err();
            let (error, text) = (error.to_string(), format!("core {other} is not among"));
            assert!(error.contains(&text), "{error}");
            assert!(error.contains(&format!("([{mine}])")), "{error}");
            // Nor does the pool choose cores that it may not use.
            let pool = ThreadPoolBuilder::new().num_threads(2).pin(Pin::Cores);
            let used = pool.build().unwrap().broadcast(|_| cores());
            assert_eq!(used, [[mine], [mine]]);
        });
    }

    #[test]
    fn a_current_thread_that_becomes_a_worker_stays_where_it_was() {
        let all = cores();
        let worker = || {
            let pool = ThreadPoolBuilder::new()
                .num_threads(1)
                .use_current_thread()
                .pin(Pin::List(vec![all[0]]))
                .build()
                .unwrap();
            assert_eq!(pool.install(cores), all);
        };
        thread::scope(|scope| scope.spawn(worker).join()).unwrap();
    }
}
