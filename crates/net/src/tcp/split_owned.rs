//! A stream in two halves that share its ownership.

use std::net::SocketAddr;

use super::stream::TcpStream;
use crate::halves;

halves::owned_halves!(TcpStream, SocketAddr);

impl OwnedReadHalf {
    halves::peek_methods!();
}
