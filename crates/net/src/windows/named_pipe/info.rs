//! The system's information about a named pipe.

use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle};

use windows_sys::Win32::System::Pipes::{GetNamedPipeInfo, PIPE_SERVER_END, PIPE_TYPE_MESSAGE};

/// The type of data in a pipe: a stream of bytes, or messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PipeMode {
    /// Bytes. Data of one write may be read in parts, and together with more.
    Byte,
    /// Messages: each write is a message, and a read gets bytes of one message only.
    Message,
}

/// An end of a named pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PipeEnd {
    /// The end that [`ClientOptions`](super::ClientOptions) opens.
    Client,
    /// The end that [`ServerOptions`](super::ServerOptions) creates.
    Server,
}

/// The system's information about a named pipe: see
/// [`NamedPipeServer::info`](super::NamedPipeServer::info).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PipeInfo {
    /// The type of data in the pipe.
    pub mode: PipeMode,
    /// The end that this is.
    pub end: PipeEnd,
    /// The maximum number of instances of the pipe; 255 means any number.
    pub max_instances: u32,
    /// The size of the buffer for written data, in bytes.
    pub out_buffer_size: u32,
    /// The size of the buffer for read data, in bytes.
    pub in_buffer_size: u32,
}

impl PipeInfo {
    pub(super) fn of(pipe: BorrowedHandle<'_>) -> io::Result<Self> {
        let (mut flags, mut out_buffer_size, mut in_buffer_size) = (0, 0, 0);
        let mut max_instances = 0;
        // SAFETY: the handle is open, and the system writes to these four numbers.
        let success = unsafe {
            GetNamedPipeInfo(
                pipe.as_raw_handle(),
                &mut flags,
                &mut out_buffer_size,
                &mut in_buffer_size,
                &mut max_instances,
            )
        };
        if success == 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            mode: match flags & PIPE_TYPE_MESSAGE {
                0 => PipeMode::Byte,
                _ => PipeMode::Message,
            },
            end: match flags & PIPE_SERVER_END {
                0 => PipeEnd::Client,
                _ => PipeEnd::Server,
            },
            max_instances,
            out_buffer_size,
            in_buffer_size,
        })
    }
}
