//! A borrowed stream in two halves.

use std::net::SocketAddr;

use super::stream::TcpStream;
use crate::halves;

halves::borrowed_halves!(TcpStream, SocketAddr);

impl ReadHalf<'_> {
    halves::peek_methods!();
}
