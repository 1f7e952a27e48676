use futures::{SinkExt, StreamExt};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::broadcast::{self, error::RecvError},
    task::JoinSet,
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, accept_async, connect_async,
    tungstenite::{Error, Message, protocol::CloseFrame, protocol::frame::coding::CloseCode},
};

use crate::support::{limit, listener, pattern};

async fn echo() -> String {
    let (listener, address) = listener().await;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let Ok(socket) = accept_async(stream).await else {
                    return;
                };
                let (mut sender, mut receiver) = socket.split();
                while let Some(Ok(message)) = receiver.next().await {
                    if message.is_text() || message.is_binary() {
                        sender.send(message).await.unwrap();
                    }
                }
            });
        }
    });
    format!("ws://{address}")
}

// ANCHOR: chat
/// A room, whose members hear what the others say.
async fn chat(listener: TcpListener) {
    let (room, _) = broadcast::channel::<(u64, Message)>(64);
    for member in 0.. {
        let (stream, _) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                eprintln!("cannot accept: {error}");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                continue;
            }
        };
        let (room, mut inbox) = (room.clone(), room.subscribe());
        tokio::spawn(async move {
            let (mut sender, mut receiver) = accept_async(stream).await?.split();
            loop {
                tokio::select! {
                    said = receiver.next() => match said {
                        Some(Ok(message)) if message.is_text() => {
                            let _ = room.send((member, message));
                        }
                        Some(Ok(message)) if !message.is_close() => {}
                        _ => return Ok(()),
                    },
                    heard = inbox.recv() => match heard {
                        Ok((from, message)) if from != member => sender.send(message).await?,
                        // A slow member misses messages, and delays no other.
                        Ok(_) | Err(RecvError::Lagged(_)) => {}
                        Err(RecvError::Closed) => return Ok::<(), Error>(()),
                    },
                }
            }
        });
    }
}
// ANCHOR_END: chat

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

async fn connect(url: &str) -> Socket {
    connect_async(url).await.unwrap().0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_in_order() {
    let url = echo().await;
    let mut sockets = JoinSet::new();
    for _ in 0..8 {
        let url = url.clone();
        sockets.spawn(async move {
            let (mut sender, mut receiver) = connect(&url).await.split();
            let sending = tokio::spawn(async move {
                for i in 0..1000 {
                    sender.feed(Message::text(i.to_string())).await.unwrap();
                }
                sender.flush().await.unwrap();
                sender
            });
            for i in 0..1000 {
                let message = receiver.next().await.unwrap().unwrap();
                assert_eq!(message.into_text().unwrap().as_str(), i.to_string());
            }
            drop(sending.await.unwrap());
        });
    }
    limit(sockets.join_all()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_of_a_room_hear_each_other() {
    let (listener, address) = listener().await;
    let server = tokio::spawn(chat(listener));
    limit(async {
        let url = format!("ws://{address}");
        let mut members = [
            connect(&url).await,
            connect(&url).await,
            connect(&url).await,
        ];
        for speaker in 0..3 {
            let words = Message::text(format!("{speaker} speaks"));
            members[speaker].send(words.clone()).await.unwrap();
            for listener in (0..3).filter(|listener| *listener != speaker) {
                assert_eq!(members[listener].next().await.unwrap().unwrap(), words);
            }
        }
    })
    .await;
    server.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_message_ping_and_close() {
    let url = echo().await;
    limit(async {
        let mut socket = connect(&url).await;
        let large = pattern(1 << 20);
        socket.send(Message::binary(large.clone())).await.unwrap();
        assert!(socket.next().await.unwrap().unwrap().into_data() == large);
        socket
            .send(Message::Ping("are you there".into()))
            .await
            .unwrap();
        let pong = socket.next().await.unwrap().unwrap();
        assert_eq!(pong, Message::Pong("are you there".into()));
        let frame = CloseFrame {
            code: CloseCode::Normal,
            reason: "done".into(),
        };
        socket.close(Some(frame.clone())).await.unwrap();
        assert_eq!(
            socket.next().await.unwrap().unwrap(),
            Message::Close(Some(frame))
        );
        assert!(socket.next().await.is_none());
        assert!(matches!(
            socket.send(Message::text("late")).await,
            Err(Error::ConnectionClosed | Error::AlreadyClosed | Error::Protocol(_))
        ));
    })
    .await;
}

#[tokio::test]
async fn what_is_not_a_web_socket_is_refused() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let (listener, address) = listener().await;
    let server = tokio::spawn(async move {
        accept_async(listener.accept().await.unwrap().0)
            .await
            .is_err()
    });
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    assert!(limit(server).await.unwrap());
    let mut rest = Vec::new();
    let _ = limit(stream.read_to_end(&mut rest)).await;
}
