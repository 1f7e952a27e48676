//! Pipelines on tasks: the same guarantees, with files and sockets at the ends.

use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use blitz_io::fs::File;
use blitz_io::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::pipeline::{
    AsyncSink, AsyncSource, Control, Error, Place, Task, async_joined, async_source, iter,
};
use blitz_io::runtime::{Builder, Runtime};

/// No test takes a hundredth of this on any machine: longer is a hang.
const HANG: Duration = Duration::from_secs(900);

fn runtime(threads: usize) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder
        .worker_threads(threads)
        .enable_all()
        .build()
        .unwrap()
}

fn on_runtime<F: Future>(run: F) -> F::Output {
    let ended = async { blitz_io::time::timeout(HANG, run).await.expect("no hang") };
    runtime(2).block_on(ended)
}

fn spawn(task: Task) {
    drop(blitz_io::spawn(task));
}

fn blocks<R>(input: R, size: u64) -> AsyncSource<'static, Vec<u8>, io::Error>
where
    R: AsyncRead + Unpin + Send + 'static,
{
    AsyncSource::unfold(input, move |mut input| async move {
        let mut block = Vec::new();
        let read = (&mut input).take(size).read_to_end(&mut block).await?;
        Ok((read > 0).then_some((block, input)))
    })
}

fn writer<W>(output: W) -> AsyncSink<'static, Vec<u8>, io::Error>
where
    W: AsyncWrite + Unpin + Send + 'static,
{
    AsyncSink::fold_with_end(
        output,
        |mut output, block: Vec<u8>| async move {
            output.write_all(&block).await?;
            Ok(output)
        },
        |mut output| async move { output.shutdown().await },
    )
}

fn numbers(to: u64) -> AsyncSource<'static, u64, u64> {
    AsyncSource::unfold(0, move |n| async move {
        if n % 3 == 0 {
            blitz_io::task::yield_now().await;
        }
        Ok((n < to).then_some((n, n + 1)))
    })
}

fn text() -> Vec<u8> {
    let mut text = Vec::new();
    for n in 0..200_000_u32 {
        text.extend(format!("line {n}\n").bytes());
    }
    text
}

#[test]
fn a_file_goes_through_stages_into_a_file() {
    let directory = std::env::temp_dir().join(format!("pipeline-tasks-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let (from, to) = (directory.join("from"), directory.join("to"));
    std::fs::write(&from, text()).unwrap();
    let progress = on_runtime(async {
        let input = File::open(&from).await.unwrap();
        let output = File::create(&to).await.unwrap();
        async_source(blocks(input, 1 << 14))
            .map(|block| block.to_ascii_uppercase())
            .async_sink(writer(output))
            .workers(4)
            .run_tasks(spawn)
            .await
            .unwrap()
    });
    let written = std::fs::read(&to).unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(written == text().to_ascii_uppercase());
    assert_eq!(progress.written, text().len().div_ceil(1 << 14) as u64);
    assert_eq!(progress.read, progress.written);
}

#[test]
fn a_socket_that_sends_more_only_after_an_answer_gets_it() {
    on_runtime(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let (server, _) = listener.accept().await.unwrap();
        let (input, output) = server.into_split();
        let source = AsyncSource::unfold(input, |mut input| async move {
            let mut line = vec![0; 4];
            match input.read_exact(&mut line).await {
                Ok(_) => Ok(Some((line, input))),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
                Err(error) => Err(error),
            }
        });
        let server = async_source(source)
            .map(|line| line.to_ascii_uppercase())
            .async_sink(writer(output))
            .workers(1)
            .run_tasks(spawn);
        let server = blitz_io::spawn(server);
        for _ in 0..100 {
            client.write_all(b"ping").await.unwrap();
            let mut answer = [0; 4];
            client.read_exact(&mut answer).await.unwrap();
            assert_eq!(&answer, b"PING");
        }
        client.shutdown().await.unwrap();
        assert_eq!(server.await.unwrap().unwrap().written, 100);
    });
}

#[test]
fn a_failure_ends_a_run_whose_source_waits_for_ever() {
    let mut seen = Vec::new();
    let (sender, receiver) = std::sync::mpsc::channel();
    let error = on_runtime(
        async_source(AsyncSource::unfold(0_u64, |n| async move {
            if n == 8 {
                std::future::pending::<()>().await;
            }
            Ok(Some((n, n + 1)))
        }))
        .try_map(|n| if n == 5 { Err("broken") } else { Ok(n) })
        .async_sink(AsyncSink::ready(move |n| {
            sender.send(n).unwrap();
            Ok(())
        }))
        .run_tasks(spawn),
    )
    .unwrap_err();
    let (item, place) = (5, Place::Stage);
    let error_is = Error::Failed {
        item,
        place,
        error: "broken",
    };
    assert_eq!(error, error_is);
    seen.extend(receiver);
    assert!(seen.into_iter().eq(0..5));
}

#[test]
fn an_end_that_fails_is_the_sinks_failure() {
    let error = on_runtime(
        async_source(numbers(3))
            .async_sink(AsyncSink::fold_with_end(
                (),
                |(), _| async { Ok(()) },
                |()| async { Err(7) },
            ))
            .run_tasks(spawn),
    )
    .unwrap_err();
    assert_eq!(error.to_string(), "item 3, in the sink: 7");
}

#[test]
fn joined_sources_of_different_length_are_uneven() {
    let error = on_runtime(
        async_joined([numbers(3), numbers(5)])
            .map(|[a, b]| a + b)
            .async_sink(AsyncSink::ready(|_| Ok(())))
            .run_tasks(spawn),
    )
    .unwrap_err();
    assert_eq!(error, Error::Uneven { item: 3, source: 0 });
}

#[test]
fn several_sinks_get_what_is_theirs() {
    let (even, odd) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let add = |sum: &Arc<AtomicU64>| {
        AsyncSink::fold(sum.clone(), |sum, n| async move {
            blitz_io::task::yield_now().await;
            sum.fetch_add(n, Ordering::Relaxed);
            Ok::<_, u64>(sum)
        })
    };
    let sinks = [add(&even), add(&odd)];
    on_runtime(
        iter(0..100_u64)
            .on_tasks()
            .async_sinks(
                |n, emit| {
                    emit.push_to(n as usize % 2, n);
                    Ok(())
                },
                sinks,
            )
            .run_tasks(spawn),
    )
    .unwrap();
    assert_eq!(even.load(Ordering::Relaxed), 2450);
    assert_eq!(odd.load(Ordering::Relaxed), 2500);
}

#[test]
fn cancelling_ends_a_run_that_waits_for_input() {
    let control = Control::new();
    let seen = control.clone();
    let error = on_runtime(async {
        let source = AsyncSource::unfold(0_u64, |n| async move {
            if n == 4 {
                std::future::pending::<()>().await;
            }
            Ok::<_, u64>(Some((n, n + 1)))
        });
        let run = async_source(source)
            .async_sink(AsyncSink::ready(|_| Ok(())))
            .control(&control)
            .run_tasks(spawn);
        let run = blitz_io::spawn(run);
        while seen.progress().is_none_or(|progress| progress.written < 4) {
            blitz_io::task::yield_now().await;
        }
        seen.cancel();
        run.await.unwrap()
    })
    .unwrap_err();
    assert_eq!(error, Error::Cancelled { written: 4 });
}

#[test]
fn a_panic_goes_on_in_the_future() {
    let run = || {
        on_runtime(
            async_source(numbers(100))
                .map(|n| assert_ne!(n, 9, "nine"))
                .async_sink(AsyncSink::ready(|()| Ok(())))
                .run_tasks(spawn),
        )
    };
    let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().contains("nine"));
}

#[test]
fn no_more_items_are_in_memory_than_tokens() {
    let inside = Arc::new(AtomicUsize::new(0));
    let (entering, leaving) = (inside.clone(), inside.clone());
    on_runtime(
        async_source(AsyncSource::unfold(0, move |n| {
            assert!(entering.fetch_add(1, Ordering::Relaxed) < 3);
            async move { Ok::<_, u64>((n < 500).then_some((n, n + 1))) }
        }))
        .async_sink(AsyncSink::fold(leaving, |leaving, _| async move {
            blitz_io::task::yield_now().await;
            leaving.fetch_sub(1, Ordering::Relaxed);
            Ok(leaving)
        }))
        .workers(4)
        .capacity(3)
        .run_tasks(spawn),
    )
    .unwrap();
}

/// Counts the values that are alive.
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn dropping_the_future_at_any_time_ends_all_tasks_and_drops_everything() {
    let alive = Arc::new(AtomicUsize::new(0));
    let runtime = runtime(2);
    for polls in 0..40 {
        let (state, made) = (Alive::new(&alive), alive.clone());
        let source = AsyncSource::unfold((0, state), move |(n, state)| {
            let item = Alive::new(&made);
            async move {
                if n > 10 {
                    std::future::pending::<()>().await;
                }
                blitz_io::task::yield_now().await;
                Ok::<_, ()>(Some((item, (n + 1, state))))
            }
        });
        let sink = AsyncSink::fold(Alive::new(&alive), |state, item: Alive| async move {
            blitz_io::task::yield_now().await;
            drop(item);
            Ok(state)
        });
        runtime.block_on(async {
            let mut run = pin!(async_source(source).async_sink(sink).run_tasks(spawn));
            let mut cx = Context::from_waker(Waker::noop());
            for _ in 0..polls {
                assert!(run.as_mut().poll(&mut cx).is_pending());
                blitz_io::task::yield_now().await;
            }
        });
        let ended = async {
            while alive.load(Ordering::Relaxed) != 0 {
                blitz_io::time::sleep(Duration::from_micros(100)).await;
            }
        };
        let ended = async { blitz_io::time::timeout(HANG, ended).await };
        runtime.block_on(ended).expect("everything is dropped");
    }
}

#[test]
fn a_task_that_is_not_run_cancels_the_run() {
    let run = async_source(numbers(5))
        .async_sink(AsyncSink::ready(|_| Ok(())))
        .run_tasks(drop);
    let error = pollster::block_on(run).unwrap_err();
    assert_eq!(error, Error::Cancelled { written: 0 });
}

/// An executor in the calling thread: one task after the other, in any order.
fn one_thread(run: impl Future, tasks: &std::cell::RefCell<Vec<Task>>, seed: &mut u64) {
    let mut run = pin!(run);
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..1_000_000 {
        if run.as_mut().poll(&mut cx).is_ready() {
            return;
        }
        let mut tasks = tasks.borrow_mut();
        if tasks.is_empty() {
            continue;
        }
        *seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let index = (*seed >> 33) as usize % tasks.len();
        if tasks[index].as_mut().poll(&mut cx).is_ready() {
            drop(tasks.swap_remove(index));
        }
    }
    panic!("the run hangs");
}

#[test]
fn any_executor_and_any_order_of_polls_will_do() {
    for mut seed in 0..300 {
        let tasks = std::cell::RefCell::new(Vec::new());
        let sum = Arc::new(AtomicU64::new(0));
        let source = AsyncSource::unfold(0, |n| async move {
            Ok::<_, u64>((n < 30).then_some((n, n + 1)))
        });
        let run = async_source(source)
            .async_sink(AsyncSink::fold(
                (sum.clone(), 0),
                |(sum, at), n| async move {
                    assert_eq!(n, at);
                    sum.fetch_add(n, Ordering::Relaxed);
                    Ok((sum, at + 1))
                },
            ))
            .workers(1 + seed as usize % 4)
            .capacity(1 + seed as usize % 7)
            .run_tasks(|task| tasks.borrow_mut().push(task));
        one_thread(run, &tasks, &mut seed);
        assert_eq!(sum.load(Ordering::Relaxed), 435);
    }
}

#[test]
fn no_shape_hangs_on_tasks() {
    let runs = std::env::var("BLITZ_PIPELINE_RUNS").ok();
    let runs: u64 = runs.and_then(|runs| runs.parse().ok()).unwrap_or(1000);
    let runtime = runtime(3);
    for seed in 0..runs {
        let mut random = seed.wrapping_mul(0x2545_F491_4F6C_DD1D) | 1;
        let mut below = |n: u64| {
            random = random
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (random >> 33) % n
        };
        let (items, workers) = (below(60), 1 + below(16) as usize);
        let (capacity, ordered) = (1 + below(64) as usize, below(4) > 0);
        let (trouble, at) = (below(8), below(items + 1));
        let source = AsyncSource::unfold(0, move |n| async move {
            if (n ^ seed) % 3 == 0 {
                blitz_io::task::yield_now().await;
            }
            if trouble == 0 && n == at {
                Err(n)
            } else {
                Ok((n < items).then_some((n, n + 1)))
            }
        });
        let sink = AsyncSink::fold(0, move |next, n| async move {
            if (n ^ seed) % 5 == 0 {
                blitz_io::task::yield_now().await;
            }
            assert!(!ordered || next == n);
            if trouble == 1 && n == at {
                Err(n)
            } else {
                Ok(next + 1)
            }
        });
        let pipeline = async_source(source)
            .try_map(move |n| {
                if trouble == 2 && n == at {
                    Err(n)
                } else {
                    Ok(n)
                }
            })
            .async_sink(sink)
            .workers(workers)
            .capacity(capacity);
        let pipeline = if ordered {
            pipeline
        } else {
            pipeline.unordered()
        };
        let run = async { blitz_io::time::timeout(HANG, pipeline.run_tasks(spawn)).await };
        let ended = runtime
            .block_on(run)
            .unwrap_or_else(|_| panic!("run {seed} hangs"));
        // A source can fail after its last item, too; the others have no item there.
        let fails = (trouble == 0 && at <= items) || (trouble <= 2 && at < items);
        match ended {
            Ok(progress) => assert!(!fails && progress.written == items, "run {seed}"),
            Err(Error::Failed { item, error, .. }) => {
                assert!(fails && (item, error) == (at, at), "run {seed}");
            }
            Err(error) => panic!("run {seed}: {error:?}"),
        }
    }
}
