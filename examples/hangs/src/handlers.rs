//! Hangs of handlers in a server. A connection's task polls the handler, and its socket to see that the client is
//! still there, as hyper does; so it waits for both.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use blitz_io::inspect::Named;
use blitz_io::io::AsyncReadExt;
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::sync::{Barrier, Mutex, Semaphore, mpsc, oneshot};
use blitz_io::task::JoinHandle;

use crate::spawn;

/// No program here lasts so long.
const LIMIT: Duration = Duration::from_secs(3600);

/// A listener and its address, to which the clients of a test connect.
struct Server(TcpListener);

impl Server {
    async fn new() -> io::Result<Self> {
        TcpListener::bind("127.0.0.1:0").await.map(Self)
    }

    /// Connects a client, which stays, and runs the handler for it.
    async fn serve<F>(
        &self,
        name: &'static str,
        handler: F,
    ) -> io::Result<(TcpStream, JoinHandle<()>)>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let client = TcpStream::connect(self.0.local_addr()?).await?;
        let (mut stream, _) = self.0.accept().await?;
        let connection = async move {
            blitz_io::select! {
                () = handler => {}
                _ = stream.read_u8() => {}
            }
        };
        Ok((client, spawn(name, connection)))
    }
}

/// Two handlers take two mutexes in two orders.
pub async fn two_mutexes() -> io::Result<()> {
    let one = Arc::new(Mutex::new(()).named("accounts"));
    let two = Arc::new(Mutex::new(()).named("audit"));
    let both = Arc::new(Barrier::new(2));
    let handler = |first: &Arc<Mutex<()>>, second: &Arc<Mutex<()>>| {
        let (first, second, both) = (first.clone(), second.clone(), both.clone());
        async move {
            let _first = first.lock().await;
            both.wait().await;
            let _second = second.lock().await;
        }
    };
    let server = Server::new().await?;
    let transfer = server.serve("transfer", handler(&one, &two)).await?;
    let report = server.serve("report", handler(&two, &one)).await?;
    _ = (transfer.1.await, report.1.await);
    Ok(())
}

/// The same, but each request has a time limit, as the layers of services give it.
pub async fn with_a_limit() -> io::Result<()> {
    let one = Arc::new(Mutex::new(()).named("accounts"));
    let two = Arc::new(Mutex::new(()).named("audit"));
    let both = Arc::new(Barrier::new(2));
    let handler = |first: &Arc<Mutex<()>>, second: &Arc<Mutex<()>>| {
        let (first, second, both) = (first.clone(), second.clone(), both.clone());
        let locks = async move {
            let _first = first.lock().await;
            both.wait().await;
            let _second = second.lock().await;
        };
        async move {
            blitz_io::select! {
                () = locks => {}
                () = blitz_io::time::sleep(LIMIT) => {}
            }
        }
    };
    let server = Server::new().await?;
    let transfer = server.serve("transfer", handler(&one, &two)).await?;
    let report = server.serve("report", handler(&two, &one)).await?;
    _ = (transfer.1.await, report.1.await);
    Ok(())
}

/// A handler locks twice, with a time limit.
pub async fn twice_with_a_limit() -> io::Result<()> {
    let lock = Arc::new(Mutex::new(()).named("accounts"));
    let server = Server::new().await?;
    let handler = async move {
        let _guard = lock.lock().await;
        _ = blitz_io::time::timeout(LIMIT, lock.lock()).await;
    };
    let handler = server.serve("twice", handler).await?;
    _ = handler.1.await;
    Ok(())
}

/// The same with two semaphores.
pub async fn two_semaphores() -> io::Result<()> {
    let one = Arc::new(Semaphore::new(1).named("files"));
    let two = Arc::new(Semaphore::new(1).named("sockets"));
    let both = Arc::new(Barrier::new(2));
    let handler = |first: &Arc<Semaphore>, second: &Arc<Semaphore>| {
        let (first, second, both) = (first.clone(), second.clone(), both.clone());
        async move {
            let _first = first.acquire().await;
            both.wait().await;
            let _second = second.acquire().await;
        }
    };
    let server = Server::new().await?;
    let upload = server.serve("upload", handler(&one, &two)).await?;
    let download = server.serve("download", handler(&two, &one)).await?;
    _ = (upload.1.await, download.1.await);
    Ok(())
}

/// A handler awaits a task that wants the handler's lock.
pub async fn awaits_its_task() -> io::Result<()> {
    let lock = Arc::new(Mutex::new(()).named("state"));
    let handler = async move {
        let _guard = lock.lock().await;
        let wants = lock.clone();
        _ = spawn("child", async move { drop(wants.lock().await) }).await;
    };
    let server = Server::new().await?;
    let parent = server.serve("parent", handler).await?;
    _ = parent.1.await;
    Ok(())
}

/// A handler asks an actor for an answer, under the lock that the actor wants for it.
pub async fn asks_an_actor() -> io::Result<()> {
    let lock = Arc::new(Mutex::new(()).named("accounts"));
    let (ask, mut asked) = mpsc::channel::<oneshot::Sender<()>>(4);
    let wants = lock.clone();
    drop(spawn("actor", async move {
        while let Some(request) = asked.recv().await {
            drop(wants.lock().await);
            _ = request.send(());
        }
    }));
    let handler = async move {
        let _guard = lock.lock().await;
        let (request, answer) = oneshot::channel();
        _ = ask.send(request).await;
        _ = answer.await;
    };
    let server = Server::new().await?;
    let asks = server.serve("asks", handler).await?;
    _ = asks.1.await;
    Ok(())
}

/// A handler waits for the answer of a task that it has spawned, under the lock that the task wants for it.
pub async fn asks_its_task() -> io::Result<()> {
    let lock = Arc::new(Mutex::new(()).named("accounts"));
    let handler = async move {
        let _guard = lock.lock().await;
        let (request, answer) = oneshot::channel();
        let wants = lock.clone();
        drop(spawn("answers", async move {
            drop(wants.lock().await);
            _ = request.send(());
        }));
        _ = answer.await;
    };
    let server = Server::new().await?;
    let asks = server.serve("asks", handler).await?;
    _ = asks.1.await;
    Ok(())
}

/// A handler fills the queue of an actor, under the lock that the actor wants for each request.
pub async fn fills_a_queue() -> io::Result<()> {
    let lock = Arc::new(Mutex::new(()).named("accounts"));
    let (jobs, mut queue) = mpsc::channel::<u32>(2);
    let wants = lock.clone();
    drop(spawn("actor", async move {
        while queue.recv().await.is_some() {
            drop(wants.lock().await);
        }
    }));
    let handler = async move {
        let _guard = lock.lock().await;
        for job in 0..8 {
            _ = jobs.send(job).await;
        }
    };
    let server = Server::new().await?;
    let fills = server.serve("fills", handler).await?;
    _ = fills.1.await;
    Ok(())
}

/// A handler waits under a lock for the answer of an actor, which sleeps; another task waits for the lock. That is healthy.
pub async fn asks_under_a_lock() -> io::Result<()> {
    let lock = Arc::new(Mutex::new(()).named("accounts"));
    let (ask, mut asked) = mpsc::channel::<oneshot::Sender<()>>(4);
    drop(spawn("actor", async move {
        while let Some(request) = asked.recv().await {
            blitz_io::time::sleep(LIMIT).await;
            _ = request.send(());
        }
    }));
    let wants = lock.clone();
    let handler = async move {
        let _guard = lock.lock().await;
        let (request, answer) = oneshot::channel();
        _ = ask.send(request).await;
        drop(spawn("wants", async move { drop(wants.lock().await) }));
        _ = answer.await;
    };
    let server = Server::new().await?;
    let asks = server.serve("asks", handler).await?;
    _ = asks.1.await;
    Ok(())
}

/// A task has a future that reads from its client under a lock, and another one that waits for that lock. Its records are
/// those of a handler that locks twice, and it is healthy.
pub async fn reads_under_own_lock() -> io::Result<()> {
    let lock = Arc::new(Mutex::new(()).named("session"));
    let server = Server::new().await?;
    let client = TcpStream::connect(server.0.local_addr()?).await?;
    let (mut stream, _) = server.0.accept().await?;
    _ = spawn("connection", async move {
        let reads = async {
            let _guard = lock.lock().await;
            stream.read_u8().await
        };
        let wants = async { drop(lock.lock().await) };
        blitz_io::join!(reads, wants)
    })
    .await;
    drop(client);
    Ok(())
}

/// An accept loop gives each connection one of two permits, and waits for the third, which is healthy.
pub async fn limit_is_reached() -> io::Result<()> {
    let server = Server::new().await?;
    let limit = Arc::new(Semaphore::new(2).named("connections"));
    let address = server.0.local_addr()?;
    let clients = (
        TcpStream::connect(address).await?,
        TcpStream::connect(address).await?,
    );
    let accepts = async move {
        loop {
            let Ok(permit) = limit.clone().acquire_owned().await else {
                return;
            };
            let Ok((mut stream, _)) = server.0.accept().await else {
                return;
            };
            drop(spawn("connection", async move {
                _ = stream.read_u8().await;
                drop(permit);
            }));
        }
    };
    _ = spawn("accepts", accepts).await;
    drop(clients);
    Ok(())
}

/// A handler gives its permit to a closure and ends, and another handler waits for the permit, which is healthy.
pub async fn permit_given_to_a_job() -> io::Result<()> {
    let limit = Arc::new(Semaphore::new(1).named("jobs"));
    let server = Server::new().await?;
    let taken = limit.clone();
    let answers = server.serve("answers", async move {
        let permit = taken.acquire_owned().await;
        drop(blitz_io::task::spawn_blocking(move || {
            std::thread::sleep(LIMIT);
            drop(permit);
        }));
    });
    _ = answers.await?.1.await;
    let wants = server.serve("wants", async move { drop(limit.acquire().await) });
    let wants = wants.await?;
    _ = wants.1.await;
    Ok(())
}

/// A handler waits for a lock whose holder waits for its client, which is healthy.
pub async fn holder_reads() -> io::Result<()> {
    let lock = Arc::new(Mutex::new(()));
    let both = Arc::new(Barrier::new(2));
    let server = Server::new().await?;
    let client = TcpStream::connect(server.0.local_addr()?).await?;
    let (mut stream, _) = server.0.accept().await?;
    let (held, locked) = (lock.clone(), both.clone());
    let holds = server.serve("holds", async move {
        let _guard = held.lock().await;
        locked.wait().await;
        _ = stream.read_u8().await;
    });
    let holds = holds.await?;
    both.wait().await;
    let wants = server.serve("wants", async move { drop(lock.lock().await) });
    let wants = wants.await?;
    _ = (holds.1.await, wants.1.await);
    drop(client);
    Ok(())
}
