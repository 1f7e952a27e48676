//! The sockets below ours: the system's, or in a simulation those of its network.
//!
//! This is the only place where the two differ. Without the feature `sim` the types here are mio's, and each function is
//! one call of the system's. With it, a socket that a task of a simulation makes belongs to the simulated network
//! (`simulation/`), and all others to the system.

#[cfg(feature = "sim")]
mod either;
mod progress;
#[cfg(not(feature = "sim"))]
mod system;

#[cfg(feature = "sim")]
pub(crate) use either::{
    Bound, TcpListener, TcpStream, UdpSocket, bind, connect, listen, listener_into_std, local_addr,
    look_up, peek_sender, register, resets_when_closed, stream_into_std, udp_into_std,
};
#[cfg(not(feature = "sim"))]
pub(crate) use system::{
    Bound, TcpListener, TcpStream, UdpSocket, bind, connect, listen, listener_into_std, local_addr,
    look_up, peek_sender, register, resets_when_closed, stream_into_std, udp_into_std,
};
