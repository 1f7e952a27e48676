//! Sets of tasks, on several threads, and their allocations.

use std::future::pending;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use blitz_io_runtime::runtime::{Builder, Runtime};
use blitz_io_runtime::task::{self, JoinSet, LocalSet};
use blitz_io_testing::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn workers(count: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(count)
        .enable_all()
        .build()
        .unwrap()
}

/// Fails a test that hangs, instead of letting it hang.
fn in_time<R: Send + 'static>(run: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, is_done) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let result = run();
        let _ = done.send(());
        result
    });
    if let Err(std::sync::mpsc::RecvTimeoutError::Timeout) =
        is_done.recv_timeout(Duration::from_secs(900))
    {
        panic!("it hangs");
    }
    thread.join().unwrap()
}

#[test]
fn all_come_back_from_several_threads() {
    in_time(|| {
        let runtime = workers(4);
        runtime.block_on(async {
            let mut set = JoinSet::new();
            for round in 0..200_usize {
                for i in 0..round {
                    set.spawn(async move {
                        if i % 3 == 0 {
                            task::yield_now().await;
                        }
                        i
                    });
                }
                let mut sum = 0;
                while let Some(i) = set.join_next().await {
                    sum += i.unwrap();
                }
                assert_eq!(sum, round * round.saturating_sub(1) / 2);
            }
        });
    });
}

/// Sets are dropped, emptied and polled while their tasks end on other threads.
#[test]
fn sets_go_away_while_tasks_end() {
    in_time(|| {
        let ended = Arc::new(AtomicUsize::new(0));
        struct Ended(Arc<AtomicUsize>);
        impl Drop for Ended {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        let runtime = workers(4);
        let mut started = 0;
        for round in 0..500 {
            let ended = &ended;
            started += runtime.block_on(async {
                let mut set = JoinSet::new();
                for i in 0..20 {
                    let ended = Ended(ended.clone());
                    set.spawn(async move {
                        for _ in 0..(i + round) % 5 {
                            task::yield_now().await;
                        }
                        // The output counts as well.
                        ended
                    });
                }
                for _ in 0..round % 7 {
                    set.join_next().await.unwrap().unwrap();
                }
                match round % 3 {
                    0 => set.detach_all(),
                    1 => set.abort_all(),
                    _ => {}
                }
                set.spawn(async { Ended(Arc::default()) });
                if round % 2 == 0 {
                    set.join_next().await.unwrap().ok();
                }
                20
            });
        }
        drop(runtime);
        assert_eq!(ended.load(Ordering::SeqCst), started);
    });
}

#[test]
fn local_members() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let local = LocalSet::new();
    let mut set = JoinSet::new();
    let number = std::rc::Rc::new(1);
    let inside = number.clone();
    set.spawn_local_on(async move { *inside }, &local);
    let sum = local.block_on(&runtime, async {
        let inside = number.clone();
        set.spawn_local(async move { *inside + 1 });
        set.join_all().await.iter().sum::<i32>()
    });
    assert_eq!(sum, 3);
}

/// A set allocates, beside its tasks, the list, and chunks that double.
#[test]
fn a_set_allocates_little() {
    let runtime = Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut set = JoinSet::new();
        let mut in_a_set = [0; 2];
        for count in &mut in_a_set {
            *count = ALLOCATOR.in_this_thread(|| {
                for _ in 0..1000 {
                    set.spawn(async {});
                }
            });
            while set.join_next().await.is_some() {}
        }
        // One for each task; the set's chunks, the first time; and sometimes those with
        // which the runtime's queue grows.
        let [first, second] = in_a_set;
        assert!((1000..1040).contains(&first), "{first}");
        assert!((1000..1020).contains(&second), "{second}");
    });
}

#[test]
fn a_set_that_is_not_dropped_lets_its_tasks_go_on() {
    in_time(|| {
        let runtime = workers(2);
        runtime.block_on(async {
            let mut set = JoinSet::new();
            let done = Arc::new(AtomicUsize::new(0));
            for _ in 0..10 {
                let done = done.clone();
                set.spawn(async move {
                    task::yield_now().await;
                    done.fetch_add(1, Ordering::SeqCst);
                });
            }
            let kept = set.spawn(pending());
            let set = ManuallyDrop::new(set);
            while done.load(Ordering::SeqCst) < 10 {
                task::yield_now().await;
            }
            assert!(!kept.is_finished());
            drop(ManuallyDrop::into_inner(set));
            while !kept.is_finished() {
                task::yield_now().await;
            }
        });
    });
}
