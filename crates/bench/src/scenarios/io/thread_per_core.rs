//! compio and monoio, as their documentation shows them: a runtime with an io_uring for each
//! worker, tasks that stay on their worker, and operations that own their buffers.
//!
//! One thread accepts the connections and hands them to the workers round-robin, so that
//! each has as many. A socket for each worker (`SO_REUSEPORT`) would leave this to chance.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use async_channel::{Receiver, Sender, unbounded};
use compio::io::{AsyncRead, AsyncReadAtExt, AsyncWriteAtExt, AsyncWriteExt};
use monoio::io::{AsyncReadRent, AsyncWriteRentExt};

use super::client::{Client, fill};
use super::echo::{self, BUFFER};
use super::file::{PAGE, TASKS, Temporary, check, filled, places};
use super::{WORKERS, failure, measured};
use crate::runtimes::kept;
use crate::scenarios::prelude::*;

/// A job for a worker, such as spawning a task.
type Job = Box<dyn FnOnce() + Send>;

/// The workers of a started runtime.
type Workers = &'static [Sender<Job>];

/// A runtime for one thread.
trait Local: Sized + 'static {
    type File: 'static;

    /// Runs a runtime on this thread, without end.
    fn work(jobs: Receiver<Job>);
    /// Spawns on this thread's runtime.
    fn spawn(future: impl Future<Output = ()> + 'static);

    /// Echoes the bytes of a stream until its end.
    async fn echo(stream: TcpStream) -> io::Result<()>;
    /// Opens a file for reading and writing.
    async fn open(path: &Path) -> io::Result<Self::File>;
    async fn read_at(file: &Self::File, place: u64, page: Vec<u8>) -> io::Result<Vec<u8>>;
    async fn write_at(file: &Self::File, place: u64, page: Vec<u8>) -> io::Result<Vec<u8>>;

    /// Returns `workers` workers, started on first use.
    fn with_workers(workers: usize) -> Workers {
        kept::<Self, _>(workers, 0, |workers| {
            let start = |_| {
                let (jobs, receiver) = unbounded();
                thread::spawn(move || Self::work(receiver));
                jobs
            };
            &*Vec::leak((0..workers).map(start).collect())
        })
    }
}

/// Runs the arriving jobs, without end.
async fn listen(jobs: Receiver<Job>) {
    while let Ok(job) = jobs.recv().await {
        job();
    }
}

/// Implements the trait: a name, the library, and how it runs and spawns a future. An operation
/// returns its result and its buffer, in a type that becomes a pair.
macro_rules! local {
    ($name:ident, $library:ident, $block_on:expr, $spawn:expr) => {
        struct $name;

        impl Local for $name {
            type File = $library::fs::File;

            fn work(jobs: Receiver<Job>) {
                $block_on(listen(jobs));
            }

            fn spawn(future: impl Future<Output = ()> + 'static) {
                $spawn(future);
            }

            async fn echo(stream: TcpStream) -> io::Result<()> {
                let mut stream = $library::net::TcpStream::from_std(stream)?;
                let mut buffer = Vec::with_capacity(BUFFER);
                loop {
                    let (read, filled): (io::Result<_>, _) = stream.read(buffer).await.into();
                    if read? == 0 {
                        return Ok(());
                    }
                    let (written, back): (io::Result<_>, _) = stream.write_all(filled).await.into();
                    written?;
                    buffer = back;
                    buffer.clear();
                }
            }

            async fn open(path: &Path) -> io::Result<Self::File> {
                let mut options = $library::fs::OpenOptions::new();
                options.read(true).write(true).open(path).await
            }

            async fn read_at(file: &Self::File, place: u64, page: Vec<u8>) -> io::Result<Vec<u8>> {
                let (read, page): (io::Result<_>, _) = file.read_exact_at(page, place).await.into();
                read.map(|_| page)
            }

            #[allow(unused_mut, reason = "compio writes through `&mut &File`")]
            async fn write_at(
                mut file: &Self::File,
                place: u64,
                page: Vec<u8>,
            ) -> io::Result<Vec<u8>> {
                let (written, page): (io::Result<_>, _) =
                    file.write_all_at(page, place).await.into();
                written.map(|_| page)
            }
        }
    };
}

local!(
    Compio,
    compio,
    |future| compio::runtime::Runtime::new()
        .expect("there are descriptors")
        .block_on(future),
    |future| compio::runtime::spawn(future).detach()
);

local!(
    Monoio,
    monoio,
    |future| {
        let builder = monoio::RuntimeBuilder::<monoio::IoUringDriver>::new();
        builder
            .build()
            .expect("there are descriptors")
            .block_on(future);
    },
    // The task continues when its handle is dropped.
    |future| drop(monoio::spawn(future))
);

type Both = [(&'static str, BodyOf<usize>); 2];

/// Adds the two runtimes to the rows that they can run.
pub(super) fn take_part(scenarios: Vec<Scenario>) -> Vec<Scenario> {
    macro_rules! both {
        ($body:ident $(, $number:literal)*) => {
            [("compio", $body::<Compio $(, $number)*>), ("monoio", $body::<Monoio $(, $number)*>)]
        };
    }
    let rows: [(&str, Both); 7] = [
        ("echo_1", both!(tcp, 1, 1, 128)),
        ("echo_64", both!(tcp, 64, 1, 128)),
        ("echo_1024", both!(tcp, 1024, 1, 128)),
        ("echo_pipelined", both!(tcp, 64, 16, 128)),
        ("echo_16k", both!(tcp, 64, 1, 16_384)),
        ("file_read_4k", both!(read)),
        ("file_write_4k", both!(write)),
    ];
    let add = |scenario: Scenario| {
        for (row, both) in rows {
            for workers in WORKERS {
                if scenario.id == format!("{row}_{workers}") {
                    return scenario.with_each(workers, both);
                }
            }
        }
        scenario
    };
    scenarios.into_iter().map(add).collect()
}

fn tcp<L: Local, const CONNECTIONS: usize, const DEPTH: usize, const SIZE: usize>(
    cx: &Context,
    workers: usize,
) -> Measured {
    let workers = L::with_workers(workers);
    let listener = TcpListener::bind("127.0.0.1:0").map_err(failure)?;
    let server = listener.local_addr().map_err(failure)?;
    let accepting = thread::spawn(move || -> io::Result<()> {
        for number in 0..CONNECTIONS {
            let (stream, _) = listener.accept()?;
            let serve = move || {
                L::spawn(async {
                    // An error shows on the client's side.
                    _ = L::echo(stream).await;
                });
            };
            let told = workers[number % workers.len()].try_send(Box::new(serve));
            told.expect("the workers never end");
        }
        Ok(())
    });
    let client = Client::<mio::net::TcpStream>::connect(&server, CONNECTIONS, DEPTH, SIZE);
    let mut client = client.map_err(failure)?;
    let accepted = accepting.join().expect("it does not panic");
    accepted.map_err(failure)?;
    echo::measure(cx, &mut client, CONNECTIONS, DEPTH)
}

fn read<L: Local>(cx: &Context, workers: usize) -> Measured {
    let path = filled().map_err(failure)?;
    files::<L, _>(cx, workers, path, |file, task, each| async move {
        let (mut page, mut expected) = (vec![0; PAGE], vec![0; PAGE]);
        for place in places(task).take(each) {
            page = L::read_at(&file, place * PAGE as u64, page).await?;
            fill(&mut expected, 1, place);
            if page != expected {
                return Err(io::Error::other("another page than was asked for"));
            }
        }
        Ok(each as u64)
    })
}

fn write<L: Local>(cx: &Context, workers: usize) -> Measured {
    let temporary = Temporary::new(false).map_err(failure)?;
    let sample = files::<L, _>(
        cx,
        workers,
        temporary.path(),
        |file, task, each| async move {
            let mut page = vec![0; PAGE];
            for place in places(task).take(each) {
                fill(&mut page, 1, place);
                page = L::write_at(&file, place * PAGE as u64, page).await?;
            }
            Ok(each as u64)
        },
    )?;
    check(&temporary, sample.ops as usize / TASKS)?;
    Ok(sample)
}

/// Runs the tasks, which return how much they have done, on the workers, round-robin.
fn files<L: Local, F: Future<Output = io::Result<u64>> + 'static>(
    cx: &Context,
    workers: usize,
    path: &Path,
    task: fn(L::File, usize, usize) -> F,
) -> Measured {
    let workers = L::with_workers(workers);
    let each = cx.share(TASKS) as usize;
    measured("operations", (each * TASKS) as u64, || {
        let (tell, told) = mpsc::channel();
        for number in 0..TASKS {
            let (tell, path) = (tell.clone(), PathBuf::from(path));
            let start = move || {
                L::spawn(async move {
                    let done = match L::open(&path).await {
                        Ok(file) => task(file, number, each).await,
                        Err(error) => Err(error),
                    };
                    // The receiver is dropped once a task has failed.
                    _ = tell.send(done);
                });
            };
            let told = workers[number % workers.len()].try_send(Box::new(start));
            told.expect("the workers never end");
        }
        drop(tell);
        told.iter().sum()
    })
}
