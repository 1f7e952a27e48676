//! A stream in two halves that share its ownership.

use super::SocketAddr;
use super::stream::UnixStream;
use crate::halves;

halves::owned_halves!(UnixStream, SocketAddr);
