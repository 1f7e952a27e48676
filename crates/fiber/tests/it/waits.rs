//! Whatever can be awaited can be waited for in a fiber.

use std::sync::Arc;

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::runtime::{Builder, Runtime};
use blitz_io::sync::{Mutex, RwLock, Semaphore, broadcast, mpsc, watch};
use blitz_io::time::{Duration, Instant, sleep, timeout};
use blitz_io::{fiber, fs, pool, task};

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(3)
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn locks() {
    let runtime = runtime();
    let count = Arc::new((Mutex::new(0), RwLock::new(0), Semaphore::new(2)));
    runtime.block_on(async {
        let fibers: Vec<_> = (0..20)
            .map(|_| {
                let count = count.clone();
                fiber::spawn(move || {
                    for _ in 0..100 {
                        let mut guard = fiber::block_on(count.0.lock());
                        // The guard is held while the fiber waits.
                        fiber::yield_now();
                        *guard += 1;
                        drop(guard);
                        *fiber::block_on(count.1.write()) += 1;
                        let _permit = fiber::block_on(count.2.acquire()).unwrap();
                        fiber::yield_now();
                    }
                })
            })
            .collect();
        for fiber in fibers {
            fiber.await.unwrap();
        }
        assert_eq!(*count.0.lock().await, 2000);
        assert_eq!(*count.1.read().await, 2000);
        assert_eq!(count.2.available_permits(), 2);
    });
}

#[test]
fn channels() {
    let runtime = runtime();
    runtime.block_on(async {
        let (numbers, mut received) = mpsc::channel(4);
        let (news, _) = broadcast::channel(8);
        let (state, mut states) = watch::channel(0);
        let readers: Vec<_> = (0..4)
            .map(|_| {
                let mut news = news.subscribe();
                fiber::spawn(move || {
                    let mut sum = 0;
                    while let Ok(number) = fiber::block_on(news.recv()) {
                        sum += number;
                    }
                    sum
                })
            })
            .collect();
        let sender = fiber::spawn(move || {
            for number in 1..=1000 {
                fiber::block_on(numbers.send(number)).unwrap();
            }
        });
        let mut sum = 0;
        while let Some(number) = received.recv().await {
            sum += number;
            if number % 4 == 0 {
                news.send(number).unwrap();
                // No reader falls behind.
                while !news.is_empty() {
                    task::yield_now().await;
                }
            }
        }
        sender.await.unwrap();
        assert_eq!(sum, 500_500);
        drop(news);
        for reader in readers {
            assert_eq!(reader.await.unwrap(), 125_500);
        }
        let watcher =
            fiber::spawn(move || *fiber::block_on(states.wait_for(|&state| state == 3)).unwrap());
        state.send(3).unwrap();
        assert_eq!(watcher.await.unwrap(), 3);
    });
}

#[test]
fn timers() {
    let runtime = runtime();
    runtime.block_on(async {
        let fibers: Vec<_> = (1..=20)
            .map(|n| {
                fiber::spawn(move || {
                    let (began, time) = (Instant::now(), Duration::from_millis(n));
                    fiber::block_on(async { sleep(time).await });
                    assert!(began.elapsed() >= time);
                    let never = std::future::pending::<()>();
                    fiber::block_on(async { timeout(time, never).await }).unwrap_err();
                })
            })
            .collect();
        for fiber in fibers {
            fiber.await.unwrap();
        }
    });
}

/// Runs an echo server and clients as fibers.
fn echo(runtime: &Runtime) {
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = fiber::spawn(move || {
            let fibers: Vec<_> = (0..16)
                .map(|_| {
                    let (mut stream, _) = fiber::block_on(listener.accept()).unwrap();
                    fiber::spawn(move || {
                        let mut buffer = [0; 64];
                        loop {
                            match fiber::block_on(stream.read(&mut buffer)).unwrap() {
                                0 => return,
                                n => fiber::block_on(stream.write_all(&buffer[..n])).unwrap(),
                            }
                        }
                    })
                })
                .collect();
            fibers
                .into_iter()
                .for_each(|fiber| fiber::block_on(fiber).unwrap());
        });
        let clients: Vec<_> = (0..16u8)
            .map(|n| {
                fiber::spawn(move || {
                    let mut stream = fiber::block_on(TcpStream::connect(address)).unwrap();
                    for round in 0..100 {
                        fiber::block_on(stream.write_all(&[n, round])).unwrap();
                        let mut answer = [0; 2];
                        fiber::block_on(stream.read_exact(&mut answer)).unwrap();
                        assert_eq!(answer, [n, round]);
                    }
                })
            })
            .collect();
        for client in clients {
            client.await.unwrap();
        }
        server.await.unwrap();
    });
}

#[test]
fn sockets() {
    echo(&runtime());
    echo(
        &Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap(),
    );
    echo(
        &Builder::new_multi_thread()
            .worker_threads(8)
            .enable_all()
            .build()
            .unwrap(),
    );
    echo(&Builder::new_current_thread().enable_all().build().unwrap());
}

#[test]
fn files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    runtime().block_on(async {
        let fiber = fiber::spawn(move || {
            fiber::block_on(fs::write(&path, "blitz")).unwrap();
            let mut file = fiber::block_on(fs::File::open(&path)).unwrap();
            let mut text = String::new();
            fiber::block_on(file.read_to_string(&mut text)).unwrap();
            text
        });
        assert_eq!(fiber.await.unwrap(), "blitz");
    });
}

/// The worker of the fiber parks, as the other one waits for events. It submits the operation on the
/// way, which may complete at once.
#[test]
fn an_operation_that_completes_while_the_worker_goes_to_sleep() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..100 {
        let path = folder.path().join(round.to_string());
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let fiber = fiber::spawn(move || {
                fiber::block_on(async {
                    let mut file = fs::File::create_new(&path).await.unwrap();
                    for _ in 0..10 {
                        file.write_all(b"blitz").await.unwrap();
                        file.sync_all().await.unwrap();
                    }
                });
            });
            fiber.await.unwrap();
        });
    }
}

#[test]
fn the_pool_and_blocking_work() {
    runtime().block_on(async {
        let fiber = fiber::spawn(|| {
            let (one, two) = pool::join(|| 1, || 2);
            let three = fiber::block_on(task::spawn_blocking(|| 3)).unwrap();
            let four = task::block_in_place(|| {
                // The thread blocks: it does not drive tasks any more.
                fiber::block_on(task::spawn(async { 4 })).unwrap()
            });
            fiber::yield_now();
            one + two + three + four
        });
        assert_eq!(fiber.await.unwrap(), 10);
    });
}

#[test]
fn a_plain_thread_blocks() {
    let (sender, mut receiver) = mpsc::channel(1);
    let thread = std::thread::spawn(move || fiber::block_on(receiver.recv()));
    fiber::block_on(sender.send(1)).unwrap();
    assert_eq!(thread.join().unwrap(), Some(1));
    fiber::yield_now();
}
