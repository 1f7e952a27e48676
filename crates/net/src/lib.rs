//! TCP, UDP and Unix sockets, Unix pipes and Windows named pipes for tasks, with Tokio's
//! names and semantics.
//!
//! A socket is registered with the driver of the worker that creates it. It may be used
//! from any thread, and its task may move between workers.
//!
//! ```
//! # use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
//! use blitz_io::net::{TcpListener, TcpStream};
//!
//! # fn main() -> std::io::Result<()> {
//! # let runtime = blitz_io::runtime::Builder::new_current_thread().enable_io().build()?;
//! # runtime.block_on(async {
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let address = listener.local_addr()?;
//! let server = blitz_io::spawn(async move {
//!     let (mut stream, _) = listener.accept().await?;
//!     let mut buffer = [0; 5];
//!     stream.read_exact(&mut buffer).await?;
//!     stream.write_all(&buffer).await
//! });
//! let mut client = TcpStream::connect(address).await?;
//! client.write_all(b"hello").await?;
//! let mut echo = [0; 5];
//! client.read_exact(&mut echo).await?;
//! assert_eq!(&echo, b"hello");
//! server.await.unwrap()
//! # })
//! # }
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

mod addr;
mod buf;
mod datagram;
mod descriptors;
mod halves;
mod lookup_host;
#[cfg(feature = "sim")]
#[doc(hidden)]
pub mod simulation;
mod sockets;
mod source;
mod stream;
pub mod tcp;
mod udp;
#[cfg(unix)]
pub mod unix;
#[cfg(windows)]
pub mod windows;

pub use addr::ToSocketAddrs;
pub use lookup_host::lookup_host;
pub use tcp::listener::TcpListener;
pub use tcp::socket::TcpSocket;
pub use tcp::stream::TcpStream;
pub use udp::UdpSocket;
#[cfg(unix)]
pub use unix::{
    datagram::UnixDatagram, listener::UnixListener, socket::UnixSocket, stream::UnixStream,
};

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
