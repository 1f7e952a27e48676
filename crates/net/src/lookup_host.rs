//! Looking up the addresses of a name.

use std::io;
use std::net::SocketAddr;

use crate::addr::{self, ToSocketAddrs};

/// Looks up the addresses of a host and a port, without blocking the thread.
///
/// # Errors
///
/// Returns an error if the name cannot be resolved.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # let runtime = blitz_io::runtime::Builder::new_current_thread().enable_io().build()?;
/// # runtime.block_on(async {
/// for address in blitz_io::net::lookup_host("127.0.0.1:3000").await? {
///     assert_eq!(address.port(), 3000);
/// }
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn lookup_host<T: ToSocketAddrs>(
    host: T,
) -> io::Result<impl Iterator<Item = SocketAddr>> {
    addr::resolve(host).await
}
