//! Calls over datagrams: a number, and then bytes. An answer has the number of its request.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::time::sleep;

use crate::echo::{DATA, NUMBERS, TEXT, TEXTS, echo};
use crate::world::{host, run_on};

const SERVER: &str = "server:9000";
/// The largest message.
const LARGEST: usize = 1_024;

/// Answers each request in a task of its own.
async fn serve(answer: fn(&[u8]) -> Vec<u8>) {
    let socket = Arc::new(UdpSocket::bind("0.0.0.0:9000").await.unwrap());
    let mut buffer = [0; LARGEST];
    loop {
        let (n, from) = socket.recv_from(&mut buffer).await.unwrap();
        let (socket, request) = (socket.clone(), buffer[..n].to_vec());
        tokio::spawn(async move { respond(&socket, &request, from, answer).await });
    }
}

async fn respond(socket: &UdpSocket, request: &[u8], to: SocketAddr, answer: fn(&[u8]) -> Vec<u8>) {
    let (number, bytes) = request.split_at(8);
    let mut response = number.to_vec();
    response.extend(answer(bytes));
    socket.send_to(&response, to).await.unwrap();
}

/// A client of [`serve`].
struct Client {
    socket: UdpSocket,
    buffer: [u8; LARGEST],
}

impl Client {
    async fn new() -> Self {
        let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
        socket.connect(SERVER).await.unwrap();
        Self {
            socket,
            buffer: [0; LARGEST],
        }
    }

    async fn call(&mut self, number: u64, bytes: &[u8]) -> &[u8] {
        let mut request = number.to_be_bytes().to_vec();
        request.extend_from_slice(bytes);
        self.socket.send(&request).await.unwrap();
        let n = self.socket.recv(&mut self.buffer).await.unwrap();
        assert_eq!(self.buffer[..8], number.to_be_bytes());
        &self.buffer[8..n]
    }
}

/// Calls with a text.
pub async fn texts() -> String {
    host("server", || {
        serve(|text| echo(&String::from_utf8_lossy(text)).into())
    });
    sleep(Duration::from_secs(1)).await;
    run_on("client", async {
        let mut client = Client::new().await;
        let mut last = String::new();
        for number in 0..TEXTS {
            let text = client.call(number.into(), TEXT.as_bytes()).await;
            last = String::from_utf8_lossy(text).into();
        }
        format!("{TEXTS} times {last}")
    })
    .await
}

/// Calls with a number and data.
pub async fn numbers() -> String {
    host("server", || serve(<[u8]>::to_vec));
    sleep(Duration::from_secs(1)).await;
    run_on("client", async {
        let mut client = Client::new().await;
        for number in 0..NUMBERS {
            assert_eq!(client.call(number, &DATA).await, DATA);
        }
        format!("{NUMBERS} answers")
    })
    .await
}
