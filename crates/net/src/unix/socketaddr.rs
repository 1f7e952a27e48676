//! The address of a Unix socket.

use std::fmt;
use std::io;
#[cfg(any(target_os = "linux", target_os = "android"))]
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net;
use std::path::Path;

/// The address of a Unix socket: a path, none, or on Linux a name in the abstract
/// namespace.
#[derive(Clone)]
pub struct SocketAddr(pub(crate) net::SocketAddr);

impl SocketAddr {
    /// Returns whether the address is unnamed.
    #[must_use]
    pub fn is_unnamed(&self) -> bool {
        self.0.is_unnamed()
    }

    /// Returns the path, if the address has one.
    #[must_use]
    pub fn as_pathname(&self) -> Option<&Path> {
        self.0.as_pathname()
    }

    /// Returns the name in the abstract namespace, without the zero byte before it, if the
    /// address has one.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    #[must_use]
    pub fn as_abstract_name(&self) -> Option<&[u8]> {
        #[cfg(target_os = "android")]
        use std::os::android::net::SocketAddrExt;
        #[cfg(target_os = "linux")]
        use std::os::linux::net::SocketAddrExt;
        self.0.as_abstract_name()
    }
}

impl fmt::Debug for SocketAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<net::SocketAddr> for SocketAddr {
    fn from(addr: net::SocketAddr) -> Self {
        Self(addr)
    }
}

impl From<SocketAddr> for net::SocketAddr {
    fn from(addr: SocketAddr) -> Self {
        addr.0
    }
}

/// Returns the address for a path. On Linux, a path that begins with a zero byte is a name
/// in the abstract namespace.
pub(crate) fn address(path: &Path) -> io::Result<net::SocketAddr> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if let Some(name) = path.as_os_str().as_bytes().strip_prefix(b"\0") {
        #[cfg(target_os = "android")]
        use std::os::android::net::SocketAddrExt;
        #[cfg(target_os = "linux")]
        use std::os::linux::net::SocketAddrExt;
        return net::SocketAddr::from_abstract_name(name);
    }
    net::SocketAddr::from_pathname(path)
}
