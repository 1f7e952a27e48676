//! The numbers of errors, the text of the last error, and the catching of panics.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt::{self, Display};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use blitz_io::task::JoinError;

use crate::fiber::{self, Details};
use crate::fork::Process;

/// Success.
pub const BLITZ_OK: c_int = 0;
/// An argument is NULL, out of range, or does not fit to the state of the object.
pub const BLITZ_EINVAL: c_int = -1001;
/// The deadline passed.
pub const BLITZ_ETIMEDOUT: c_int = -1002;
/// The other side was freed or has ended, or the object was closed.
pub const BLITZ_ECLOSED: c_int = -1003;
/// The channel is full, or the segment has as many senders or receivers as it allows.
pub const BLITZ_EFULL: c_int = -1004;
/// The channel is empty.
pub const BLITZ_EEMPTY: c_int = -1005;
/// The operation would have to wait.
pub const BLITZ_EAGAIN: c_int = -1006;
/// A panic was caught inside the library. `blitz_last_error` has its text.
pub const BLITZ_EPANIC: c_int = -1007;
/// The fiber was cancelled, or its runtime shuts down.
pub const BLITZ_ECANCELED: c_int = -1008;
/// A receiver was too slow and missed values.
pub const BLITZ_ELAGGED: c_int = -1009;
/// The word does not hold the expected value.
pub const BLITZ_ECHANGED: c_int = -1010;
/// Another thread or fiber uses the object, which allows only one.
pub const BLITZ_EBUSY: c_int = -1011;
/// The value or the buffer is larger, or smaller, than the object allows.
pub const BLITZ_ESIZE: c_int = -1012;
/// The operating system lacks a feature that this needs.
pub const BLITZ_EUNSUPPORTED: c_int = -1013;
/// The object was made before a `fork`, and this is the child process.
pub const BLITZ_EFORKED: c_int = -1014;
/// The shared memory does not have the form that it must have.
pub const BLITZ_ECORRUPT: c_int = -1015;
/// Another participant died, and the operation cannot be completed without it.
pub const BLITZ_EBROKEN: c_int = -1016;
/// The library has another ABI version than the header with which the program was compiled.
pub const BLITZ_EABI: c_int = -1017;
/// The name is in use with other settings.
pub const BLITZ_EMISMATCH: c_int = -1018;
/// A callback of the caller reported a failure.
pub const BLITZ_ECALLBACK: c_int = -1019;
/// The end of the file or stream came before the buffer was full.
pub const BLITZ_EEOF: c_int = -1020;
/// The system's resolver has no address of the host, or does not work. `blitz_last_error` has its answer.
pub const BLITZ_EHOST: c_int = -1021;
/// The result of an entry, before its conversion to a number.
pub(crate) type Outcome<T = ()> = Result<T, c_int>;

/// The names and texts of the errors.
const ERRORS: &[(c_int, &CStr, &CStr)] = &[
    (BLITZ_OK, c"BLITZ_OK", c"success"),
    (BLITZ_EINVAL, c"BLITZ_EINVAL", c"invalid argument"),
    (BLITZ_ETIMEDOUT, c"BLITZ_ETIMEDOUT", c"the deadline passed"),
    (BLITZ_ECLOSED, c"BLITZ_ECLOSED", c"closed"),
    (
        BLITZ_EFULL,
        c"BLITZ_EFULL",
        c"the channel is full, or the segment has all its senders or receivers",
    ),
    (BLITZ_EEMPTY, c"BLITZ_EEMPTY", c"the channel is empty"),
    (
        BLITZ_EAGAIN,
        c"BLITZ_EAGAIN",
        c"the operation would have to wait",
    ),
    (BLITZ_EPANIC, c"BLITZ_EPANIC", c"panic inside the library"),
    (
        BLITZ_ECANCELED,
        c"BLITZ_ECANCELED",
        c"the fiber was cancelled",
    ),
    (
        BLITZ_ELAGGED,
        c"BLITZ_ELAGGED",
        c"the receiver missed values",
    ),
    (
        BLITZ_ECHANGED,
        c"BLITZ_ECHANGED",
        c"the word holds another value",
    ),
    (
        BLITZ_EBUSY,
        c"BLITZ_EBUSY",
        c"another thread or fiber uses the object",
    ),
    (BLITZ_ESIZE, c"BLITZ_ESIZE", c"the size is not allowed"),
    (
        BLITZ_EUNSUPPORTED,
        c"BLITZ_EUNSUPPORTED",
        c"the operating system does not support this",
    ),
    (
        BLITZ_EFORKED,
        c"BLITZ_EFORKED",
        c"the object belongs to the parent process",
    ),
    (
        BLITZ_ECORRUPT,
        c"BLITZ_ECORRUPT",
        c"the shared memory is corrupt",
    ),
    (BLITZ_EBROKEN, c"BLITZ_EBROKEN", c"another participant died"),
    (
        BLITZ_EABI,
        c"BLITZ_EABI",
        c"the library has another ABI version",
    ),
    (
        BLITZ_EMISMATCH,
        c"BLITZ_EMISMATCH",
        c"the name is in use with other settings",
    ),
    (
        BLITZ_ECALLBACK,
        c"BLITZ_ECALLBACK",
        c"a callback reported a failure",
    ),
    (
        BLITZ_EEOF,
        c"BLITZ_EEOF",
        c"unexpected end of the file or stream",
    ),
    (
        BLITZ_EHOST,
        c"BLITZ_EHOST",
        c"no address of the host is known",
    ),
];

/// Returns the text that describes an error, in English. An error of the operating system has the
/// text of the system.
///
/// The text lives as long as the process, except that of the operating system, which is valid
/// until this thread's next call. It is never NULL. Any thread or fiber may call this; it does
/// not wait.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_strerror(error: c_int) -> *const c_char {
    if let Some((_, _, text)) = ERRORS.iter().find(|entry| entry.0 == error) {
        return text.as_ptr();
    }
    match blitz_os_error(error) {
        0 => c"unknown error".as_ptr(),
        // SAFETY: strerror accepts every number.
        number => unsafe { libc::strerror(number) },
    }
}

/// Returns the name of an error as it is in this header, such as "BLITZ_EINVAL". An error of the
/// operating system is "errno", an unknown number "unknown".
///
/// The text lives as long as the process. Any thread or fiber may call this; it does not wait.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_error_name(error: c_int) -> *const c_char {
    match ERRORS.iter().find(|entry| entry.0 == error) {
        Some((_, name, _)) => name.as_ptr(),
        None if blitz_os_error(error) != 0 => c"errno".as_ptr(),
        None => c"unknown".as_ptr(),
    }
}

/// Returns the `errno` of an error that the operating system has reported, which is between
/// -999 and -1 here; and 0 for every other number.
///
/// Any thread or fiber may call this; it does not wait.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_os_error(error: c_int) -> c_int {
    if (-999..0).contains(&error) {
        -error
    } else {
        0
    }
}

thread_local! {
    /// The details of this thread. A fiber keeps its own.
    static LAST: RefCell<Details> = RefCell::default();
    /// Details have been recorded in this thread, or a fiber of it.
    static HAS_DETAILS: Cell<bool> = const { Cell::new(false) };
}

/// Gives the details of the calling thread or fiber to `with`.
fn with_details<R>(with: impl FnOnce(&mut Details) -> R) -> R {
    fiber::with_current(|fiber| match fiber {
        Some(fiber) => with(&mut fiber.last_error.lock()),
        // A thread that ends, and has dropped them, keeps none.
        None => {
            let mut last = LAST.try_with(RefCell::take).unwrap_or_default();
            let result = with(&mut last);
            _ = LAST.try_with(|own| own.replace(last));
            result
        }
    })
}

/// Returns details on the last error that a function of this library has returned to this thread
/// or fiber, in English, or "" if that error had none.
///
/// The text is valid until the next error of this thread or fiber, or its end. It is never NULL.
/// Successful calls leave it as it is. Any thread or fiber may call this; it does not wait.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_last_error() -> *const c_char {
    entry_or(c"".as_ptr(), || {
        with_details(|last| (last.text.as_ref()).map_or(c"".as_ptr(), |text| text.as_ptr()))
    })
}

/// Keeps the details of an error for `blitz_last_error`, and returns its number.
#[cold]
pub(crate) fn record(error: c_int, details: impl Display) -> c_int {
    let text = details.to_string().replace('\0', " ");
    let text = CString::new(text).ok();
    HAS_DETAILS.set(true);
    with_details(|last| *last = Details { text, is_new: true });
    error
}

/// Puts what an error is about, such as a path, before its details, and returns its number.
#[cold]
pub(crate) fn about(error: c_int, what: impl Display) -> c_int {
    let details = with_details(|last| last.is_new.then(|| last.text.take()).flatten());
    match details {
        Some(text) => record(error, format_args!("{what}: {}", text.to_string_lossy())),
        None => record(error, what),
    }
}

/// Returns `BLITZ_EINVAL`, and keeps details of it.
#[cold]
#[inline(never)]
pub(crate) fn invalid(details: impl Display) -> c_int {
    record(BLITZ_EINVAL, details)
}

/// Returns an error from an entry: without details of its own, it clears those of an older one.
#[inline]
pub(crate) fn returned(error: c_int) -> c_int {
    if HAS_DETAILS.get() {
        forget_older();
    }
    error
}

#[cold]
fn forget_older() {
    let old = with_details(|last| {
        if std::mem::take(&mut last.is_new) {
            None
        } else {
            last.text.take()
        }
    });
    drop(old);
}

/// The error of a resolver that has no address of a host, inside an `io::Error`.
#[derive(Debug)]
pub(crate) struct UnknownHost(pub(crate) io::Error);

impl Display for UnknownHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for UnknownHost {}

/// Returns the number of an error of the system. Kinds that only Rust's library reports have numbers
/// of this library.
#[cold]
pub(crate) fn of_io(error: &io::Error) -> c_int {
    let is_lookup = |inner: &(dyn std::error::Error + 'static)| inner.is::<UnknownHost>();
    let number = match (error.raw_os_error(), error.kind()) {
        _ if error.get_ref().is_some_and(|inner| is_lookup(inner)) => BLITZ_EHOST,
        (Some(number), _) => -number,
        (None, io::ErrorKind::UnexpectedEof) => BLITZ_EEOF,
        (None, io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => BLITZ_EINVAL,
        (None, io::ErrorKind::TimedOut) => BLITZ_ETIMEDOUT,
        (None, io::ErrorKind::WouldBlock) => BLITZ_EAGAIN,
        (None, io::ErrorKind::Unsupported) => BLITZ_EUNSUPPORTED,
        (None, io::ErrorKind::NotFound) => -libc::ENOENT,
        (None, io::ErrorKind::WriteZero | io::ErrorKind::BrokenPipe) => -libc::EPIPE,
        (None, _) => -libc::EIO,
    };
    record(number, error)
}

/// Returns the number of the error with which a task ended: its panic, or the end of its runtime.
#[cold]
pub(crate) fn of_join(error: JoinError) -> c_int {
    if error.is_panic() {
        panicked(error.into_panic());
        return BLITZ_EPANIC;
    }
    record(BLITZ_ECANCELED, error)
}

/// Returns the error of a child of the process in which an object was made.
#[inline]
pub(crate) fn in_process(process: Process) -> Outcome {
    if process.is_current() {
        Ok(())
    } else {
        Err(forked())
    }
}

#[cold]
fn forked() -> c_int {
    record(
        BLITZ_EFORKED,
        "the object was made before fork(), whose child has none of its threads",
    )
}

/// Runs the body of an entry. A panic does not cross the boundary to C.
#[inline]
pub(crate) fn entry(body: impl FnOnce() -> Outcome) -> c_int {
    entry_or(BLITZ_EPANIC, || match body() {
        Ok(()) => BLITZ_OK,
        Err(error) => returned(error),
    })
}

/// Runs the body of an entry that returns another type. After a panic the result is `failed`.
#[inline]
pub(crate) fn entry_or<R>(failed: R, body: impl FnOnce() -> R) -> R {
    // The state of a primitive is consistent after a panic, as it is after Rust's own locks.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => result,
        Err(panic) => {
            panicked(panic);
            forget_older();
            failed
        }
    }
}

/// Keeps the text of a panic.
///
/// It takes the payload by value: an entry that has to keep the payload across this call would save
/// registers for it on each call that does not panic.
#[cold]
#[inline(never)]
pub(crate) fn panicked(panic: Box<dyn Any + Send>) {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("panic");
    record(BLITZ_EPANIC, text);
}

#[test]
fn a_panic_becomes_an_error_with_its_text() {
    assert_eq!(entry(|| panic!("the {}", "text")), BLITZ_EPANIC);
    // SAFETY: the text is valid until the next error of this thread.
    let text = unsafe { CStr::from_ptr(blitz_last_error()) };
    assert_eq!(text, c"the text");
    assert_eq!(entry(|| Ok(())), BLITZ_OK);
}

#[test]
fn an_error_without_details_clears_those_of_an_older_one() {
    // SAFETY: the text is valid until the next error of this thread.
    let last = || unsafe { CStr::from_ptr(blitz_last_error()) };
    assert_eq!(entry(|| Err(record(BLITZ_ESIZE, "details"))), BLITZ_ESIZE);
    assert_eq!(last(), c"details");
    assert_eq!(entry(|| Ok(())), BLITZ_OK);
    assert_eq!(last(), c"details");
    assert_eq!(entry(|| Err(BLITZ_ESIZE)), BLITZ_ESIZE);
    assert_eq!(last(), c"");
    assert_eq!(entry(|| panic!("the text")), BLITZ_EPANIC);
    assert_eq!(entry(|| Err(BLITZ_EINVAL)), BLITZ_EINVAL);
    assert_eq!(last(), c"");
}

#[test]
fn errors_have_one_name_each() {
    for (i, one) in ERRORS.iter().enumerate() {
        assert_eq!(blitz_os_error(one.0), 0);
        let is_other = |other: &(c_int, &CStr, &CStr)| other.0 != one.0 && other.1 != one.1;
        assert!(ERRORS[..i].iter().all(is_other));
    }
}
