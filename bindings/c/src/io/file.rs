//! Files.

use std::ffi::{c_char, c_int, c_void};
use std::io::SeekFrom;

use blitz_io::fs::{File, OpenOptions};
use blitz_io::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};

use crate::args::{arg, bytes, bytes_mut, check, os_text, put, put_if_wanted};
use crate::error::{Outcome, entry, entry_or, in_process, invalid};
use crate::exclusive::{Entered, Exclusive};
use crate::fork::Process;
use crate::handle::{handle, take};
use crate::runtime;
use crate::wait::Limit;

/// Opens for reading.
pub const BLITZ_OPEN_READ: u32 = 1;
/// Opens for writing.
pub const BLITZ_OPEN_WRITE: u32 = 2;
/// Each write goes to the end.
pub const BLITZ_OPEN_APPEND: u32 = 4;
/// Makes the file empty.
pub const BLITZ_OPEN_TRUNCATE: u32 = 8;
/// Makes the file if there is none.
pub const BLITZ_OPEN_CREATE: u32 = 16;
/// Makes the file, and fails with `-EEXIST` if there is one.
pub const BLITZ_OPEN_CREATE_NEW: u32 = 32;

/// A position from the beginning of a file.
pub const BLITZ_SEEK_SET: u32 = 0;
/// A position from the current one.
pub const BLITZ_SEEK_CURRENT: u32 = 1;
/// A position from the end of a file.
pub const BLITZ_SEEK_END: u32 = 2;

/// An open file. Any thread or fiber may use it; a second call at the same time returns
/// `BLITZ_EBUSY`. Its functions suspend the calling fiber, or block the calling thread.
pub struct blitz_file {
    file: Exclusive<File>,
    process: Process,
}

fn enter<'a>(file: *mut blitz_file) -> Outcome<Entered<'a, File>> {
    let file = arg(file)?;
    in_process(file.process)?;
    file.file.enter()
}

/// Opens a file. `flags` are `BLITZ_OPEN_…`, added. A new file gets the permissions `mode`, as far
/// as the process's umask allows.
///
/// The caller closes it with `blitz_file_free`. Returns `BLITZ_OK`,
/// `BLITZ_ECANCELED`, `BLITZ_EINVAL` for NULL, no or unknown flags, or an error of the system, as
/// `-ENOENT`.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_file_open(
    path: *const c_char,
    flags: u32,
    mode: u32,
    file: *mut *mut blitz_file,
) -> c_int {
    entry(|| {
        check(file)?;
        let path = os_text(path)?;
        if flags == 0 || flags >= BLITZ_OPEN_CREATE_NEW * 2 {
            return Err(invalid("no such flags"));
        }
        let has = |flag| flags & flag != 0;
        let mut options = OpenOptions::new();
        options
            .read(has(BLITZ_OPEN_READ))
            .write(has(BLITZ_OPEN_WRITE))
            .append(has(BLITZ_OPEN_APPEND))
            .truncate(has(BLITZ_OPEN_TRUNCATE))
            .create(has(BLITZ_OPEN_CREATE))
            .create_new(has(BLITZ_OPEN_CREATE_NEW))
            .mode(mode);
        let opened = runtime::inside(|| super::on(options.open(path), Limit::Never))?;
        put(
            file,
            handle(blitz_file {
                file: Exclusive::new(opened),
                process: Process::current(),
            }),
        )
    })
}

/// Reads up to `len` bytes at the file's position, which moves on.
///
/// `count` gets the number of bytes; 0 is the end of the file (if `len` is not 0). Returns `BLITZ_OK`,
/// `BLITZ_ECANCELED`, `BLITZ_EBUSY`, `BLITZ_EINVAL` for NULL, `BLITZ_EFORKED`, or an error of the
/// system.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_file_read(
    file: *mut blitz_file,
    buffer: *mut c_void,
    len: usize,
    count: *mut usize,
) -> c_int {
    entry(|| {
        check(count)?;
        let mut file = enter(file)?;
        let to = bytes_mut(buffer.cast(), len)?;
        put(
            count,
            runtime::inside(|| super::on(file.read(to), Limit::Never))?,
        )
    })
}

/// Writes all of `len` bytes at the file's position, which moves on, and gives them to the system.
///
/// Returns `BLITZ_OK`, `BLITZ_ECANCELED`, `BLITZ_EBUSY`, `BLITZ_EINVAL` for NULL, `BLITZ_EFORKED`,
/// or an error of the system, as `-ENOSPC`; then a part may have been written.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_file_write(
    file: *mut blitz_file,
    buffer: *const c_void,
    len: usize,
) -> c_int {
    entry(|| {
        let mut file = enter(file)?;
        let from = bytes(buffer.cast(), len)?;
        let write = async {
            file.write_all(from).await?;
            file.flush().await
        };
        runtime::inside(|| super::on(write, Limit::Never))
    })
}

/// Moves the file's position to `offset` from `whence` (`BLITZ_SEEK_SET`, `BLITZ_SEEK_CURRENT`,
/// `BLITZ_SEEK_END`). `position` gets the new one from the beginning; it may be NULL.
///
/// Returns `BLITZ_OK`, `BLITZ_ECANCELED`, `BLITZ_EBUSY`, `BLITZ_EINVAL` for NULL, an unknown
/// `whence` or a negative position, `BLITZ_EFORKED`, or an error of the system.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_file_seek(
    file: *mut blitz_file,
    offset: i64,
    whence: u32,
    position: *mut u64,
) -> c_int {
    entry(|| {
        let mut file = enter(file)?;
        let to = match whence {
            BLITZ_SEEK_SET => SeekFrom::Start(
                u64::try_from(offset).map_err(|_| invalid("a position is not negative"))?,
            ),
            BLITZ_SEEK_CURRENT => SeekFrom::Current(offset),
            BLITZ_SEEK_END => SeekFrom::End(offset),
            _ => return Err(invalid("no such origin of a position")),
        };
        let moved = runtime::inside(|| super::on(file.seek(to), Limit::Never))?;
        put_if_wanted(position, moved);
        Ok(())
    })
}

/// Waits until the written bytes are on the disk, with the file's metadata if `metadata` is true.
///
/// Returns `BLITZ_OK`, `BLITZ_ECANCELED`, `BLITZ_EBUSY`, `BLITZ_EINVAL` for NULL, `BLITZ_EFORKED`,
/// or an error of the system.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_file_sync(file: *mut blitz_file, metadata: bool) -> c_int {
    entry(|| {
        let file = enter(file)?;
        let sync = async {
            if metadata {
                file.sync_all().await
            } else {
                file.sync_data().await
            }
        };
        runtime::inside(|| super::on(sync, Limit::Never))
    })
}

/// Writes the length of a file in bytes.
///
/// Returns `BLITZ_OK`, `BLITZ_ECANCELED`, `BLITZ_EBUSY`, `BLITZ_EINVAL` for NULL, `BLITZ_EFORKED`,
/// or an error of the system.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_file_len(file: *mut blitz_file, len: *mut u64) -> c_int {
    entry(|| {
        check(len)?;
        let file = enter(file)?;
        put(
            len,
            runtime::inside(|| super::on(file.metadata(), Limit::Never))?.len(),
        )
    })
}

/// Makes a file shorter, or longer with zeros.
///
/// Returns `BLITZ_OK`, `BLITZ_ECANCELED`, `BLITZ_EBUSY`, `BLITZ_EINVAL` for NULL, `BLITZ_EFORKED`,
/// or an error of the system.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_file_set_len(file: *mut blitz_file, len: u64) -> c_int {
    entry(|| {
        let file = enter(file)?;
        runtime::inside(|| super::on(file.set_len(len), Limit::Never))
    })
}

/// Closes a file and frees it. NULL is fine. No other call may use it, now or later. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_file_free(file: *mut blitz_file) {
    entry_or((), || drop(take(file)));
}
