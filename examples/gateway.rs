//! A server whose requests are answered by another process: lines from TCP clients go to a
//! queue in shared memory, and the answers of a worker process go back to the client.
//!
//! ```sh
//! cargo run --release --example gateway -- --listen 127.0.0.1:4000
//! ```
//!
//! It shows a task that awaits sockets and other processes in one `select!`, without a
//! helper thread. It serves one client after the other, starts the worker itself, and ends
//! when standard input ends.

use std::process::ExitCode;

#[cfg(any(target_os = "linux", target_os = "android"))]
#[blitz_io::main]
async fn main() -> ExitCode {
    match gateway::run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gateway: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn main() -> ExitCode {
    eprintln!("gateway: memory shared between processes is not supported on this system");
    ExitCode::FAILURE
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod gateway {
    use std::error::Error;
    use std::process::Command;

    use blitz_io::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, stdin};
    use blitz_io::ipc::{Queue, Receiver, RecvError, Sender};
    use blitz_io::net::{TcpListener, TcpStream};
    use blitz_io::select;
    use blitz_io::time::{Duration, sleep};
    use clap::Parser;

    /// Answers lines of TCP clients with the help of another process.
    #[derive(Parser)]
    #[command(version)]
    struct Options {
        /// Where to listen
        #[arg(long, default_value = "127.0.0.1:4000", value_name = "ADDRESS")]
        listen: String,
        /// Be the worker
        #[arg(long, hide = true, value_name = "NAME")]
        work: Option<String>,
    }

    /// How many requests can be on their way. It is less than a queue holds, so that no
    /// `send_async` waits for a worker that waits for its replies to be received.
    const IN_FLIGHT: u64 = 256;

    type Result = std::result::Result<(), Box<dyn Error>>;

    pub async fn run() -> Result {
        let options = Options::parse();
        match &options.work {
            Some(name) => work(name).await,
            None => serve(&options).await,
        }
    }

    /// Answers requests until the gateway has left.
    async fn work(name: &str) -> Result {
        let mut requests = Queue::receiver(&format!("{name}-requests"))?;
        let mut replies = Queue::sender(&format!("{name}-replies"))?;
        loop {
            let request = match requests.recv_async().await {
                Err(RecvError::Disconnected) => return Ok(()),
                other => other?,
            };
            let reply = request.to_ascii_uppercase();
            replies.send_async(&reply).await?;
        }
    }

    async fn serve(options: &Options) -> Result {
        let name = format!("gateway-{}", std::process::id());
        let mut requests = Queue::sender(&format!("{name}-requests"))?;
        let mut replies = Queue::receiver(&format!("{name}-replies"))?;
        let mut worker = Command::new(std::env::current_exe()?)
            .args(["--work", &name])
            .spawn()?;
        let listener = TcpListener::bind(&options.listen).await?;
        println!("listening on {}", listener.local_addr()?);
        let (mut input, mut byte) = (stdin(), [0; 64]);
        let mut waiting = 0;
        loop {
            select! {
                client = listener.accept() => {
                    let (client, address) = match client {
                        Ok(client) => client,
                        Err(error) => {
                            // For example, there are no descriptors left, which lasts for a while.
                            eprintln!("gateway: cannot accept: {error}");
                            sleep(Duration::from_millis(100)).await;
                            continue;
                        }
                    };
                    if let Err(error) = talk(client, &mut requests, &mut replies, &mut waiting).await {
                        eprintln!("gateway: {address}: {error}");
                    }
                    // Skips the replies that a client that has left did not receive.
                    while waiting > 0 {
                        replies.recv_async().await?;
                        waiting -= 1;
                    }
                }
                read = input.read(&mut byte) => {
                    if read? == 0 {
                        break;
                    }
                }
            }
        }
        drop(requests); // This ends the worker.
        worker.wait()?;
        Ok(())
    }

    /// Serves one client, in both directions at the same time.
    async fn talk(
        client: TcpStream,
        requests: &mut Sender,
        replies: &mut Receiver,
        waiting: &mut u64,
    ) -> Result {
        let (read, mut write) = client.into_split();
        let mut lines = BufReader::new(read).lines();
        let mut open = true;
        while open || *waiting > 0 {
            select! {
                line = lines.next_line(), if open && *waiting < IN_FLIGHT => match line? {
                    Some(line) => {
                        requests.send_async(line.as_bytes()).await?;
                        *waiting += 1;
                    }
                    None => open = false,
                },
                reply = replies.recv_async(), if *waiting > 0 => {
                    let mut reply = reply?.to_vec();
                    *waiting -= 1;
                    reply.push(b'\n');
                    write.write_all(&reply).await?;
                }
            }
        }
        Ok(())
    }
}
