//! A borrowed stream in two halves.

use super::SocketAddr;
use super::stream::UnixStream;
use crate::halves;

halves::borrowed_halves!(UnixStream, SocketAddr);
