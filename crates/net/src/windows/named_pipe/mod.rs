//! Named pipes of Windows, as in `tokio::net::windows::named_pipe`.
//!
//! A server creates an instance of the pipe for each client, and creates the next one
//! before it serves a client that has connected: otherwise the next client finds no pipe. A
//! client that finds all instances in use gets `ERROR_PIPE_BUSY`, and tries again later.
//!
//! ```no_run
//! use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
//! use blitz_io::net::windows::named_pipe::{ClientOptions, ServerOptions};
//!
//! const NAME: &str = r"\\.\pipe\blitz-io-greeting";
//!
//! # #[blitz_io::main]
//! # async fn main() -> std::io::Result<()> {
//! let mut server = ServerOptions::new().first_pipe_instance(true).create(NAME)?;
//! blitz_io::spawn(async move {
//!     loop {
//!         server.connect().await?;
//!         let mut connected = server;
//!         server = ServerOptions::new().create(NAME)?;
//!         blitz_io::spawn(async move { connected.write_all(b"hello").await });
//!     }
//!     # #[allow(unreachable_code)]
//!     std::io::Result::Ok(())
//! });
//! let mut text = [0; 5];
//! ClientOptions::new().open(NAME)?.read_exact(&mut text).await?;
//! assert_eq!(&text, b"hello");
//! # Ok(())
//! # }
//! ```

mod ends;
mod info;
mod options;

pub use ends::{NamedPipeClient, NamedPipeServer};
pub use info::{PipeEnd, PipeInfo, PipeMode};
pub use options::{ClientOptions, ServerOptions};
