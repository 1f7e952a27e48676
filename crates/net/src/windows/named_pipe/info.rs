//! What the system says of a named pipe.

use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle};

use windows_sys::Win32::System::Pipes::{GetNamedPipeInfo, PIPE_SERVER_END, PIPE_TYPE_MESSAGE};

/// What goes through a pipe: a stream of bytes, or messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PipeMode {
    /// Bytes. What was written at once may be read in parts, and together with more.
    Byte,
    /// Messages: what was written at once is a message, and a read gets bytes of one message
    /// only.
    Message,
}

/// An end of a named pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PipeEnd {
    /// The one that [`ClientOptions`](super::ClientOptions) opens.
    Client,
    /// The one that [`ServerOptions`](super::ServerOptions) creates.
    Server,
}

/// What the system says of a named pipe: see
/// [`NamedPipeServer::info`](super::NamedPipeServer::info).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PipeInfo {
    /// What goes through it.
    pub mode: PipeMode,
    /// Which end this is.
    pub end: PipeEnd,
    /// How many instances of the pipe there may be: 255 is any number.
    pub max_instances: u32,
    /// The size of the buffer for what is written, in bytes.
    pub out_buffer_size: u32,
    /// The size of the buffer for what is read, in bytes.
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
