//! All requests share one connection to a backend, which answers in the order of the questions. One slow answer
//! delays those behind it.

use std::io;
use std::time::Duration;

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::spawn;
use blitz_io::sync::{mpsc, oneshot};
use blitz_io::time::sleep;
use blitz_io_slow::{Load, planted, serve, two_workers};

/// Each question with a number that this divides takes long.
const SLOW: u32 = 10;

type Question = (u32, oneshot::Sender<()>);

fn main() -> io::Result<()> {
    let load = Load {
        clients: 12,
        requests: 15,
    };
    two_workers().build()?.block_on(async {
        let backend = connect().await?;
        serve("GET /report", load, move |number| {
            let backend = backend.clone();
            async move {
                let (sender, receiver) = oneshot::channel();
                let sent = backend.send((number, sender)).await;
                sent.expect("the connection lives");
                receiver.await.expect("the backend answers");
            }
        })
        .await
    })
}

/// Starts the backend, and a task that asks it and gives each request its answer.
async fn connect() -> io::Result<mpsc::Sender<Question>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let stream = TcpStream::connect(listener.local_addr()?).await?;
    let (backend, _) = listener.accept().await?;
    spawn(answer_in_order(backend));
    let (mut answers, mut questions) = stream.into_split();
    let (sender, mut receiver) = mpsc::channel::<Question>(64);
    let (waiting, mut first) = mpsc::channel(64);
    spawn(async move {
        while let Some((number, answer)) = receiver.recv().await {
            waiting.send(answer).await.expect("the other task lives");
            let written = questions.write_all(&number.to_le_bytes()).await;
            written.expect("the backend lives");
        }
    });
    spawn(async move {
        let mut answer = [0; 4];
        while answers.read_exact(&mut answer).await.is_ok() {
            let sender: oneshot::Sender<()> = first.recv().await.expect("it was asked");
            // The request may have ended.
            _ = sender.send(());
        }
    });
    Ok(sender)
}

async fn answer_in_order(mut stream: TcpStream) -> io::Result<()> {
    let fast = Duration::from_millis(planted(1).into());
    let mut question = [0; 4];
    while stream.read_exact(&mut question).await.is_ok() {
        let is_slow = u32::from_le_bytes(question) % SLOW == 0;
        let times = if is_slow { 20 } else { 1 };
        sleep(times * fast).await;
        stream.write_all(&question).await?;
    }
    Ok(())
}
