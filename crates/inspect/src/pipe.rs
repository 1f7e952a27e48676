//! The named pipe of a process: `\\.\pipe\blitz-PID-NAME`, which only its user may open, from this machine.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::thread;
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::ERROR_PIPE_BUSY;
use windows_sys::Win32::Storage::FileSystem::SECURITY_IDENTIFICATION;

use crate::protocol::LIMIT;

/// The folder of all pipes.
const FOLDER: &str = r"\\.\pipe\";
const PREFIX: &str = "blitz-";

fn path(pid: u32, name: &str) -> String {
    format!("{FOLDER}{PREFIX}{pid}-{name}")
}

/// Returns the processes that have a pipe, with their names. A pipe ends with its process.
pub(crate) fn list() -> io::Result<Vec<(u32, String)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(FOLDER)? {
        let pipe = entry?.file_name();
        let name = pipe.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let Some((pid, name)) = name.and_then(|name| name.split_once('-')) else {
            continue;
        };
        if let Ok(pid) = pid.parse() {
            found.push((pid, name.to_owned()));
        }
    }
    Ok(found)
}

/// Connects to a process, once it has answered its other clients.
pub(crate) fn connect(pid: u32, name: &str) -> io::Result<File> {
    let path = path(pid, name);
    let end = Instant::now() + LIMIT;
    loop {
        let mut options = OpenOptions::new();
        // Another user's process could have made a pipe of this name: it learns who asks, and may do no
        // more in that user's name.
        options.security_qos_flags(SECURITY_IDENTIFICATION);
        match options.read(true).write(true).open(&path) {
            Err(error) if is_busy(&error) && Instant::now() < end => {
                thread::sleep(Duration::from_millis(10));
            }
            opened => return opened,
        }
    }
}

/// Does nothing: a read of a pipe has no limit.
pub(crate) fn wait_at_most(_: &File, _: Duration) {}

fn is_busy(error: &io::Error) -> bool {
    error.raw_os_error() == Some(ERROR_PIPE_BUSY as i32)
}

#[cfg(feature = "records")]
pub(crate) use server::Listener;

#[cfg(feature = "records")]
mod server {
    use std::ffi::c_void;
    use std::fs::File;
    use std::io;
    use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
    use std::ptr;
    use std::thread;

    use windows_sys::Win32::Foundation::{ERROR_PIPE_CONNECTED, INVALID_HANDLE_VALUE, LocalFree};
    use windows_sys::Win32::Security::Authorization::{
        ConvertSidToStringSidW, ConvertStringSecurityDescriptorToSecurityDescriptorW,
        SDDL_REVISION_1,
    };
    use windows_sys::Win32::Security::{
        GetTokenInformation, SECURITY_ATTRIBUTES, TOKEN_QUERY, TOKEN_USER, TokenUser,
    };
    use windows_sys::Win32::Storage::FileSystem::{
        FILE_FLAG_FIRST_PIPE_INSTANCE, PIPE_ACCESS_DUPLEX,
    };
    use windows_sys::Win32::System::Pipes::{
        ConnectNamedPipe, CreateNamedPipeW, PIPE_REJECT_REMOTE_CLIENTS, PIPE_TYPE_BYTE,
        PIPE_UNLIMITED_INSTANCES,
    };
    use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

    /// The size of a pipe's buffers.
    const BUFFER: u32 = 64 * 1024;

    /// The pipe of this process: an instance without a client.
    pub(crate) struct Listener {
        path: Vec<u16>,
        rights: Rights,
        next: File,
    }

    impl Listener {
        pub(crate) fn open(name: &str) -> io::Result<Self> {
            let path = wide(&super::path(std::process::id(), name));
            let rights = Rights::of_user()?;
            let next = instance(&path, &rights, FILE_FLAG_FIRST_PIPE_INSTANCE)?;
            Ok(Self { path, rights, next })
        }

        /// Answers each client in a thread of its own: a client that does not read keeps no other one
        /// waiting.
        pub(crate) fn serve(mut self, answer: fn(&mut File) -> io::Result<()>) {
            loop {
                let connected = connect(&self.next);
                // If there is no further instance, there is no memory for one.
                let Ok(next) = instance(&self.path, &self.rights, 0) else {
                    return;
                };
                let mut stream = std::mem::replace(&mut self.next, next);
                if connected.is_err() {
                    continue;
                }
                let body = move || {
                    // A client that disconnects is not an error of the program. The client can read the
                    // written bytes only until the pipe is closed.
                    _ = answer(&mut stream).and_then(|()| stream.sync_all());
                };
                let thread = thread::Builder::new().name("blitz-inspect".into());
                _ = thread.spawn(body);
            }
        }
    }

    fn instance(path: &[u16], rights: &Rights, first: u32) -> io::Result<File> {
        let attributes = SECURITY_ATTRIBUTES {
            nLength: size_of::<SECURITY_ATTRIBUTES>() as u32,
            lpSecurityDescriptor: rights.0,
            bInheritHandle: 0,
        };
        // SAFETY: the path ends with a 0, and the attributes live until the call returns.
        let pipe = unsafe {
            CreateNamedPipeW(
                path.as_ptr(),
                PIPE_ACCESS_DUPLEX | first,
                PIPE_TYPE_BYTE | PIPE_REJECT_REMOTE_CLIENTS,
                PIPE_UNLIMITED_INSTANCES,
                BUFFER,
                BUFFER,
                0,
                &raw const attributes,
            )
        };
        if pipe == INVALID_HANDLE_VALUE {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the handle is open, and this is its owner.
        Ok(unsafe { File::from_raw_handle(pipe) })
    }

    /// Waits for a client.
    fn connect(pipe: &File) -> io::Result<()> {
        // SAFETY: the handle is open.
        if unsafe { ConnectNamedPipe(pipe.as_raw_handle(), ptr::null_mut()) } != 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() == Some(ERROR_PIPE_CONNECTED as i32) {
            return Ok(());
        }
        Err(error)
    }

    /// A security descriptor by which this process's user may do everything, and no other user anything.
    struct Rights(*mut c_void);

    // SAFETY: it is memory that only its owner uses.
    unsafe impl Send for Rights {}

    impl Rights {
        fn of_user() -> io::Result<Self> {
            let text = wide(&format!("D:P(A;;GA;;;{})", user()?));
            let mut descriptor = ptr::null_mut();
            // SAFETY: the text ends with a 0, and the pointer is to a place for the result.
            let made = unsafe {
                ConvertStringSecurityDescriptorToSecurityDescriptorW(
                    text.as_ptr(),
                    SDDL_REVISION_1,
                    &raw mut descriptor,
                    ptr::null_mut(),
                )
            };
            check(made)?;
            Ok(Self(descriptor))
        }
    }

    impl Drop for Rights {
        fn drop(&mut self) {
            // SAFETY: the system has allocated it in this way.
            unsafe { LocalFree(self.0) };
        }
    }

    /// Returns the user of this process, as security descriptors have it.
    fn user() -> io::Result<String> {
        let mut token = ptr::null_mut();
        // SAFETY: the pointer is to a place for the result.
        check(unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token) })?;
        // SAFETY: the handle is open, and this is its owner.
        let token = unsafe { OwnedHandle::from_raw_handle(token) };
        // A user's identifier has 68 bytes at most. Words, as the structure has an alignment.
        let mut facts = [0_u64; 32];
        let mut size = 0;
        let (handle, room) = (token.as_raw_handle(), size_of_val(&facts) as u32);
        // SAFETY: the pointers are to `room` bytes and to a number.
        check(unsafe {
            GetTokenInformation(
                handle,
                TokenUser,
                facts.as_mut_ptr().cast(),
                room,
                &raw mut size,
            )
        })?;
        // SAFETY: the call has written such a structure, which is aligned.
        let facts = unsafe { &*facts.as_ptr().cast::<TOKEN_USER>() };
        let mut text = ptr::null_mut();
        // SAFETY: the identifier is valid, and the pointer is to a place for the result.
        check(unsafe { ConvertSidToStringSidW(facts.User.Sid, &raw mut text) })?;
        // SAFETY: the text ends with a 0.
        let length = (0..)
            .take_while(|&index| unsafe { *text.add(index) } != 0)
            .count();
        // SAFETY: it has this length.
        let found = String::from_utf16_lossy(unsafe { std::slice::from_raw_parts(text, length) });
        // SAFETY: the system has allocated it in this way.
        unsafe { LocalFree(text.cast()) };
        Ok(found)
    }

    fn check(result: i32) -> io::Result<()> {
        if result == 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }

    fn wide(text: &str) -> Vec<u16> {
        text.encode_utf16().chain([0]).collect()
    }
}
