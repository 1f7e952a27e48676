//! The traits by which a socket lends its descriptor or handle.

/// Implements the traits for a socket's descriptor, on systems that have descriptors, or
/// for its handle.
macro_rules! descriptors {
    ($type:ty) => {
        #[cfg(unix)]
        impl std::os::fd::AsRawFd for $type {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                self.io.as_raw_fd()
            }
        }

        #[cfg(unix)]
        impl std::os::fd::AsFd for $type {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                use std::os::fd::AsRawFd;
                // SAFETY: the socket owns its descriptor and is borrowed for as long.
                unsafe { std::os::fd::BorrowedFd::borrow_raw(self.as_raw_fd()) }
            }
        }

        #[cfg(windows)]
        impl std::os::windows::io::AsRawSocket for $type {
            fn as_raw_socket(&self) -> std::os::windows::io::RawSocket {
                self.io.as_raw_socket()
            }
        }

        #[cfg(windows)]
        impl std::os::windows::io::AsSocket for $type {
            fn as_socket(&self) -> std::os::windows::io::BorrowedSocket<'_> {
                use std::os::windows::io::AsRawSocket;
                // SAFETY: the socket owns its handle and is borrowed for as long.
                unsafe { std::os::windows::io::BorrowedSocket::borrow_raw(self.as_raw_socket()) }
            }
        }
    };
}

pub(crate) use descriptors;
