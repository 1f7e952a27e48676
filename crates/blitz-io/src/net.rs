//! Sockets for tasks, with the names of `tokio::net`.
//!
//! ```
//! use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
//! use blitz_io::net::{TcpListener, TcpStream}; // was: tokio::net
//!
//! # fn main() -> std::io::Result<()> {
//! # let runtime = blitz_io::runtime::Builder::new_multi_thread().worker_threads(2).enable_io().build()?;
//! # runtime.block_on(async {
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let address = listener.local_addr()?;
//! blitz_io::spawn(async move {
//!     let (mut stream, _) = listener.accept().await.unwrap();
//!     stream.write_all(b"hello").await.unwrap();
//! });
//! let mut text = String::new();
//! TcpStream::connect(address).await?.read_to_string(&mut text).await?;
//! assert_eq!(text, "hello");
//! # Ok(())
//! # })
//! # }
//! ```

pub use blitz_io_net::*;
