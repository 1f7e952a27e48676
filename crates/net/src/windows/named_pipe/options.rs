//! Options for creating and opening the ends of a named pipe.

use std::ffi::{OsStr, c_void};
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr;

use windows_sys::Win32::Foundation::{GENERIC_READ, GENERIC_WRITE, HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, FILE_FLAG_FIRST_PIPE_INSTANCE, FILE_FLAG_OVERLAPPED, OPEN_EXISTING,
    PIPE_ACCESS_INBOUND, PIPE_ACCESS_OUTBOUND, SECURITY_IDENTIFICATION, SECURITY_SQOS_PRESENT,
    WRITE_DAC, WRITE_OWNER,
};
use windows_sys::Win32::System::Pipes::{
    CreateNamedPipeW, PIPE_ACCEPT_REMOTE_CLIENTS, PIPE_READMODE_BYTE, PIPE_READMODE_MESSAGE,
    PIPE_REJECT_REMOTE_CLIENTS, PIPE_TYPE_BYTE, PIPE_TYPE_MESSAGE, PIPE_UNLIMITED_INSTANCES,
    SetNamedPipeHandleState,
};
use windows_sys::Win32::System::SystemServices::ACCESS_SYSTEM_SECURITY;

use super::{NamedPipeClient, NamedPipeServer, PipeMode};

/// Creates the server's end of a named pipe.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The flags of `dwOpenMode`.
    open: u32,
    pipe_mode: PipeMode,
    reject_remote_clients: bool,
    max_instances: u32,
    out_buffer_size: u32,
    in_buffer_size: u32,
}

impl ServerOptions {
    /// Creates the usual options for a server: bytes in both directions, any number of
    /// instances, no clients from other machines, buffers of 64 KiB.
    pub fn new() -> ServerOptions {
        ServerOptions {
            open: FILE_FLAG_OVERLAPPED | PIPE_ACCESS_INBOUND | PIPE_ACCESS_OUTBOUND,
            pipe_mode: PipeMode::Byte,
            reject_remote_clients: true,
            max_instances: PIPE_UNLIMITED_INSTANCES,
            out_buffer_size: 65536,
            in_buffer_size: 65536,
        }
    }

    /// Sets the type of data in the pipe. The default is bytes.
    pub fn pipe_mode(&mut self, pipe_mode: PipeMode) -> &mut Self {
        self.pipe_mode = pipe_mode;
        self
    }

    /// Sets whether clients may write. By default they may.
    pub fn access_inbound(&mut self, allowed: bool) -> &mut Self {
        set_flag(&mut self.open, PIPE_ACCESS_INBOUND, allowed);
        self
    }

    /// Sets whether clients may read. By default they may.
    pub fn access_outbound(&mut self, allowed: bool) -> &mut Self {
        set_flag(&mut self.open, PIPE_ACCESS_OUTBOUND, allowed);
        self
    }

    /// Sets whether an existing instance of the pipe, which may belong to another program, is
    /// an error. By default it is not.
    pub fn first_pipe_instance(&mut self, first: bool) -> &mut Self {
        set_flag(&mut self.open, FILE_FLAG_FIRST_PIPE_INSTANCE, first);
        self
    }

    /// Sets whether the access control list of the pipe may be changed through this end. By
    /// default it may not.
    pub fn write_dac(&mut self, requested: bool) -> &mut Self {
        set_flag(&mut self.open, WRITE_DAC, requested);
        self
    }

    /// Sets whether the owner of the pipe may be changed through this end. By default it may
    /// not.
    pub fn write_owner(&mut self, requested: bool) -> &mut Self {
        set_flag(&mut self.open, WRITE_OWNER, requested);
        self
    }

    /// Sets whether the system's access control list of the pipe may be changed through this
    /// end. By default it may not.
    pub fn access_system_security(&mut self, requested: bool) -> &mut Self {
        set_flag(&mut self.open, ACCESS_SYSTEM_SECURITY, requested);
        self
    }

    /// Sets whether clients on other machines are rejected. By default they are.
    pub fn reject_remote_clients(&mut self, reject: bool) -> &mut Self {
        self.reject_remote_clients = reject;
        self
    }

    /// Sets the maximum number of instances of the pipe. All of them must be created with
    /// the same number. By default any number is allowed.
    ///
    /// # Panics
    ///
    /// Panics if it is more than 254.
    #[track_caller]
    pub fn max_instances(&mut self, instances: usize) -> &mut Self {
        assert!(instances < 255, "cannot specify more than 254 instances");
        self.max_instances = instances as u32;
        self
    }

    /// Sets how many bytes the system reserves for written data.
    pub fn out_buffer_size(&mut self, buffer: u32) -> &mut Self {
        self.out_buffer_size = buffer;
        self
    }

    /// Sets how many bytes the system reserves for read data.
    pub fn in_buffer_size(&mut self, buffer: u32) -> &mut Self {
        self.in_buffer_size = buffer;
        self
    }

    /// Creates an instance of the pipe with a name, such as `\\.\pipe\name`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors: among others, `PermissionDenied` if it is not the first
    /// instance and was required to be.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn create(&self, addr: impl AsRef<OsStr>) -> io::Result<NamedPipeServer> {
        // SAFETY: there are no attributes.
        unsafe { self.create_with_security_attributes_raw(addr, ptr::null_mut()) }
    }

    /// Creates an instance of the pipe with a name, with security attributes.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`create`](Self::create).
    ///
    /// # Panics
    ///
    /// Panics like `create`.
    ///
    /// # Safety
    ///
    /// `attrs` is null or points to a valid `SECURITY_ATTRIBUTES`.
    #[track_caller]
    pub unsafe fn create_with_security_attributes_raw(
        &self,
        addr: impl AsRef<OsStr>,
        attrs: *mut c_void,
    ) -> io::Result<NamedPipeServer> {
        let addr = with_nul(addr.as_ref())?;
        let mode = match self.pipe_mode {
            PipeMode::Byte => PIPE_TYPE_BYTE | PIPE_READMODE_BYTE,
            PipeMode::Message => PIPE_TYPE_MESSAGE | PIPE_READMODE_MESSAGE,
        };
        let remote = if self.reject_remote_clients {
            PIPE_REJECT_REMOTE_CLIENTS
        } else {
            PIPE_ACCEPT_REMOTE_CLIENTS
        };
        // SAFETY: the name ends with a zero. The caller guarantees that `attrs` is null or
        // points to valid attributes.
        let handle = unsafe {
            CreateNamedPipeW(
                addr.as_ptr(),
                self.open,
                mode | remote,
                self.max_instances,
                self.out_buffer_size,
                self.in_buffer_size,
                0,
                attrs.cast(),
            )
        };
        NamedPipeServer::new(owned(handle)?)
    }
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Opens the client's end of a named pipe.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    access: u32,
    security_qos_flags: u32,
    pipe_mode: PipeMode,
}

impl ClientOptions {
    /// Creates the usual options for a client: bytes in both directions, and the server may
    /// identify the client but not impersonate it.
    pub fn new() -> Self {
        Self {
            access: GENERIC_READ | GENERIC_WRITE,
            security_qos_flags: SECURITY_IDENTIFICATION | SECURITY_SQOS_PRESENT,
            pipe_mode: PipeMode::Byte,
        }
    }

    /// Sets whether the client reads. By default it does.
    pub fn read(&mut self, allowed: bool) -> &mut Self {
        set_flag(&mut self.access, GENERIC_READ, allowed);
        self
    }

    /// Sets whether the client writes. By default it does.
    pub fn write(&mut self, allowed: bool) -> &mut Self {
        set_flag(&mut self.access, GENERIC_WRITE, allowed);
        self
    }

    /// Sets how far the server may impersonate the client, by the system's flags. The
    /// default is `SECURITY_IDENTIFICATION`.
    pub fn security_qos_flags(&mut self, flags: u32) -> &mut Self {
        self.security_qos_flags = flags | SECURITY_SQOS_PRESENT;
        self
    }

    /// Sets whether messages or bytes are read. The default is bytes, even from a pipe of
    /// messages.
    pub fn pipe_mode(&mut self, pipe_mode: PipeMode) -> &mut Self {
        self.pipe_mode = pipe_mode;
        self
    }

    /// Opens the pipe with a name.
    ///
    /// # Errors
    ///
    /// Returns the system's errors: `NotFound` if there is no such pipe, and
    /// `ERROR_PIPE_BUSY` if all of its instances are in use.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn open(&self, addr: impl AsRef<OsStr>) -> io::Result<NamedPipeClient> {
        // SAFETY: there are no attributes.
        unsafe { self.open_with_security_attributes_raw(addr, ptr::null_mut()) }
    }

    /// Opens the pipe with a name, with security attributes.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`open`](Self::open).
    ///
    /// # Panics
    ///
    /// Panics like `open`.
    ///
    /// # Safety
    ///
    /// `attrs` is null or points to a valid `SECURITY_ATTRIBUTES`.
    #[track_caller]
    pub unsafe fn open_with_security_attributes_raw(
        &self,
        addr: impl AsRef<OsStr>,
        attrs: *mut c_void,
    ) -> io::Result<NamedPipeClient> {
        let addr = with_nul(addr.as_ref())?;
        // SAFETY: the name ends with a zero. The caller guarantees that `attrs` is null or
        // points to valid attributes.
        let handle = unsafe {
            CreateFileW(
                addr.as_ptr(),
                self.access,
                0,
                attrs.cast(),
                OPEN_EXISTING,
                self.security_qos_flags | FILE_FLAG_OVERLAPPED,
                ptr::null_mut(),
            )
        };
        let pipe = owned(handle)?;
        if self.pipe_mode == PipeMode::Message {
            let mode = PIPE_READMODE_MESSAGE;
            // SAFETY: the handle is open, and the system reads the mode.
            let success = unsafe {
                SetNamedPipeHandleState(pipe.as_raw_handle(), &mode, ptr::null(), ptr::null())
            };
            if success == 0 {
                return Err(io::Error::last_os_error());
            }
        }
        NamedPipeClient::new(pipe)
    }
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self::new()
    }
}

fn set_flag(flags: &mut u32, flag: u32, set: bool) {
    if set {
        *flags |= flag;
    } else {
        *flags &= !flag;
    }
}

/// Converts a name to the system's form. A name that contains a zero is an error, because
/// it would be cut short there.
fn with_nul(name: &OsStr) -> io::Result<Vec<u16>> {
    let mut wide: Vec<u16> = name.encode_wide().collect();
    if wide.contains(&0) {
        let message = "the name of a pipe contains a zero";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    wide.push(0);
    Ok(wide)
}

fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle has just been created, and has no other owner.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}
