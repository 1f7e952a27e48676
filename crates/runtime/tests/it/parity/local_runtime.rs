// Included twice: with Tokio's names, and with ours. `runtime` and `task` are the modules.

use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use blitz_io_testing::{Drops, log, panic_of, traits_of};
use runtime::{Builder, Handle, LocalOptions, LocalRuntime};
use task::{LocalSet, spawn_local};

type Log = Vec<String>;

fn local() -> LocalRuntime {
    Builder::new_current_thread()
        .build_local(LocalOptions::default())
        .unwrap()
}

pub fn traits() -> Log {
    let mut log = Log::new();
    log!(log, traits_of!(LocalRuntime));
    log!(log, traits_of!(LocalOptions));
    log!(log, LocalOptions::default());
    let refused = panic_of(|| Builder::new_multi_thread().build_local(LocalOptions::default()));
    log!(log, refused);
    log!(log, LocalRuntime::new().is_ok());
    log
}

pub fn tasks() -> Log {
    let mut log = Log::new();
    let runtime = local();
    let sum = Rc::new(Cell::new(0));
    let add = |more| {
        let sum = sum.clone();
        async move {
            task::yield_now().await;
            sum.set(sum.get() + more);
            more
        }
    };
    let before = runtime.spawn_local(add(1));
    let within = runtime.block_on(async {
        let here = spawn_local(add(10)).await.unwrap();
        let sent = task::spawn(async { 100 }).await.unwrap();
        let blocking = task::spawn_blocking(|| 1000).await.unwrap();
        // In a task, and in a task of a task.
        let inner = add(10_000);
        let nested = spawn_local(async move { spawn_local(inner).await.unwrap() });
        here + sent + blocking + nested.await.unwrap()
    });
    log!(log, within, runtime.block_on(before).unwrap(), sum.get());
    {
        let _guard = runtime.enter();
        spawn_local(add(5));
        runtime.handle().spawn(async {});
    }
    runtime.block_on(task::yield_now());
    runtime.block_on(task::yield_now());
    log!(log, sum.get(), runtime.metrics().num_workers());
    log!(log, runtime.block_on(runtime.spawn_blocking(|| 4)).unwrap());
    log!(
        log,
        panic_of(|| runtime.block_on(async { task::block_in_place(|| 1) }))
    );
    log!(
        log,
        panic_of(|| runtime.block_on(async { runtime.block_on(async {}) }))
    );
    log
}

pub fn refused() -> Log {
    let mut log = Log::new();
    let runtime = local();
    let handle = runtime.handle().clone();
    let elsewhere = thread::spawn(move || {
        let _guard = handle.enter();
        (
            panic_of(|| spawn_local(async {})),
            handle.spawn(async { 3 }),
        )
    });
    let (refused, sent) = elsewhere.join().unwrap();
    log!(log, refused, runtime.block_on(sent).unwrap());
    let in_pool = runtime.spawn_blocking(|| panic_of(|| spawn_local(async {})));
    log!(log, runtime.block_on(in_pool).unwrap());
    // After the thread's end no thread can spawn on its runtime.
    let gone = thread::spawn(|| local().handle().clone()).join().unwrap();
    thread::spawn(move || {
        let _guard = gone.enter();
        let refused = panic_of(|| spawn_local(async {}));
        let late = Handle::current().spawn(async {});
        (refused, late.is_finished())
    })
    .join()
    .map(|seen| log!(log, seen))
    .unwrap();
    log!(log, panic_of(|| spawn_local(async {})));
    // The runtime goes before a set.
    let set = LocalSet::new();
    let id = runtime.block_on(set.run_until(async { spawn_local(async { 6 }).await.unwrap() }));
    log!(log, id);
    log
}

pub fn ends() -> Log {
    let mut log = Log::new();
    for how in 0..4 {
        let runtime = local();
        let drops = Drops::new();
        let waits = |counted| async move {
            let _counted: blitz_io_testing::Counted<Rc<u32>> = counted;
            pending::<()>().await;
        };
        let never_polled = runtime.spawn_local(waits(drops.counted(Rc::new(1))));
        let [waiting] = runtime.block_on(async {
            let task = spawn_local(waits(drops.counted(Rc::new(2))));
            task::yield_now().await;
            [task]
        });
        // Another thread has its waker, and calls it while the runtime ends.
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let (began, begins) = mpsc::channel();
        let counted = drops.counted(Rc::new(3));
        let woken = runtime.spawn_local(async move {
            began.send(()).unwrap();
            receiver.await.unwrap_or(0);
            drop(counted);
            pending::<()>().await;
        });
        runtime.block_on(task::yield_now());
        begins.recv().unwrap();
        let waker = thread::spawn(move || sender.send(7).is_ok());
        match how {
            0 => drop(runtime),
            1 => runtime.shutdown_background(),
            2 => runtime.shutdown_timeout(Duration::from_secs(5)),
            _ => drop(runtime.block_on(async { Rc::new(1) })),
        }
        waker.join().unwrap();
        log!(log, how, never_polled.is_finished(), waiting.is_finished());
        log!(
            log,
            if how == 3 { 3 } else { drops.count() },
            woken.is_finished() || how == 3
        );
    }
    log
}
