//! Datagrams to all hosts, or to those that have joined a group.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use tokio::time::sleep;

use crate::world::UdpSocket;

const PORT: u16 = 9_000;
const DATAGRAMS: u8 = 3;
const PAUSE: Duration = Duration::from_millis(100);

pub const ALL: IpAddr = IpAddr::V4(Ipv4Addr::BROADCAST);
pub const GROUP_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(239, 0, 0, 1));
pub const GROUP_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xFF08, 0, 0, 0, 0, 0, 0, 1));

/// Returns the address of a socket that hears all that is sent to the port.
fn any(like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// Receives all datagrams. Returns their bytes.
pub async fn listen(to: IpAddr) -> io::Result<Vec<u8>> {
    let socket = UdpSocket::bind((any(to), PORT)).await?;
    match to {
        IpAddr::V4(group) if group.is_multicast() => {
            socket.join_multicast_v4(group, Ipv4Addr::UNSPECIFIED)?;
        }
        IpAddr::V4(_) => {}
        IpAddr::V6(group) => socket.join_multicast_v6(&group, 0)?,
    }
    let (mut bytes, mut buffer) = (Vec::new(), [0; 16]);
    for _ in 0..DATAGRAMS {
        let (n, _) = socket.recv_from(&mut buffer).await?;
        bytes.extend_from_slice(&buffer[..n]);
    }
    // Datagrams overtake each other.
    bytes.sort_unstable();
    Ok(bytes)
}

/// Sends the datagrams, once all listen.
pub async fn send(to: IpAddr) -> io::Result<()> {
    let socket = UdpSocket::bind((any(to), 0)).await?;
    if to == ALL {
        socket.set_broadcast(true)?;
    }
    for number in 1..=DATAGRAMS {
        sleep(PAUSE).await;
        socket.send_to(&[number, number], (to, PORT)).await?;
    }
    Ok(())
}
