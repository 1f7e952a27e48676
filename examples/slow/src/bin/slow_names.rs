//! Each request looks up a name, and the server of names takes its time.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use blitz_io::net::UdpSocket;
use blitz_io::spawn;
use blitz_io::time::sleep;
use blitz_io_slow::{Load, planted, serve, two_workers};

fn main() -> io::Result<()> {
    let load = Load {
        clients: 12,
        requests: 10,
    };
    two_workers().build()?.block_on(async {
        let names = start_names().await?;
        serve("GET /proxy", load, move |number| async move {
            look_up(names, number).await.expect("the server answers");
        })
        .await
    })
}

fn any_port() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

async fn look_up(names: SocketAddr, number: u32) -> io::Result<()> {
    let socket = UdpSocket::bind(any_port()).await?;
    socket.send_to(&number.to_le_bytes(), names).await?;
    let mut answer = [0; 4];
    socket.recv_from(&mut answer).await?;
    Ok(())
}

/// Starts a server of names, each of whose answers takes ten milliseconds or the argument of the program.
async fn start_names() -> io::Result<SocketAddr> {
    let socket = Arc::new(UdpSocket::bind(any_port()).await?);
    let address = socket.local_addr()?;
    let answer_takes = Duration::from_millis(planted(10).into());
    spawn(async move {
        let mut question = [0; 4];
        while let Ok((_, from)) = socket.recv_from(&mut question).await {
            let socket = socket.clone();
            spawn(async move {
                sleep(answer_takes).await;
                // Its client may have ended.
                _ = socket.send_to(&question, from).await;
            });
        }
    });
    Ok(address)
}
