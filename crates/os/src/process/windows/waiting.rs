//! A child that has not been waited for, and how a task waits until it has exited.
//!
//! A thread of the system waits for any number of processes and calls back, once, when one
//! exits. The callback's argument is a number that no other child of this process has had.
//! The callback looks up a waker under that number in a table. So it owns nothing that
//! could be freed before it runs.
//!
//! A task first stores its waker in the table and then asks the system whether the child
//! has exited. If the child exits after that, the callback comes after that as well and
//! finds the waker. If the callback came before the waker, the child had exited, and the
//! task sees it.

use std::collections::BTreeMap;
use std::io;
use std::os::windows::io::{AsRawHandle, RawHandle};
use std::process::{Child, ExitStatus};
use std::ptr;
use std::task::{Context, Poll, Waker};

use blitz_io_runtime::runtime::Handle;
use blitz_io_sync::thread::Mutex;
use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::System::Threading::{
    INFINITE, RegisterWaitForSingleObject, UnregisterWaitEx, WT_EXECUTEINWAITTHREAD,
    WT_EXECUTEONLYONCE,
};

static WAKERS: Mutex<Wakers> = Mutex::new(Wakers {
    next: 0,
    waiting: BTreeMap::new(),
});

struct Wakers {
    /// The number of the next child.
    next: usize,
    waiting: BTreeMap<usize, Waker>,
}

/// A child that has not been waited for. If this is dropped, the child continues to run,
/// and leaves nothing behind when it exits.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// Created by the first task that waits. Dropped before the child's handle is closed.
    callback: Option<Callback>,
    child: Child,
}

impl Waiting {
    /// Does nothing: the system does not keep an exited process for its parent.
    pub(crate) fn reap() {}

    /// Creates the value. Only other systems need the runtime, and only there can this
    /// fail.
    pub(crate) fn new(child: Child, _: Handle) -> io::Result<Self> {
        Ok(Self {
            callback: None,
            child,
        })
    }

    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn raw_handle(&self) -> RawHandle {
        self.child.as_raw_handle()
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        let callback = match &self.callback {
            Some(callback) => callback,
            None => self.callback.insert(Callback::new(&self.child)?),
        };
        callback.leave(cx.waker());
        match self.child.try_wait()? {
            Some(status) => Poll::Ready(Ok(status)),
            None => Poll::Pending,
        }
    }
}

/// A registration with the system, which calls back when a child exits, until this is
/// dropped.
#[derive(Debug)]
struct Callback {
    number: usize,
    registered: HANDLE,
}

// SAFETY: the handle is a number, which any thread may pass to the system.
unsafe impl Send for Callback {}
// SAFETY: no method uses the handle through `&Callback`; only the drop does.
unsafe impl Sync for Callback {}

impl Callback {
    fn new(child: &Child) -> io::Result<Self> {
        let mut wakers = WAKERS.lock();
        let number = wakers.next;
        wakers.next += 1;
        drop(wakers);
        let mut registered = ptr::null_mut();
        // SAFETY: the handle of the process is open until after the callback has been
        // unregistered, and the callback is given a number.
        let success = unsafe {
            RegisterWaitForSingleObject(
                &mut registered,
                child.as_raw_handle(),
                Some(exited),
                ptr::without_provenance(number),
                INFINITE,
                WT_EXECUTEINWAITTHREAD | WT_EXECUTEONLYONCE,
            )
        };
        if success == 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { number, registered })
    }

    /// Stores a waker for the callback, and replaces the last one.
    fn leave(&self, waker: &Waker) {
        // Wakers are foreign code, so they are not cloned or dropped under the lock.
        let waker = waker.clone();
        let last = WAKERS.lock().waiting.insert(self.number, waker);
        drop(last);
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        let waker = WAKERS.lock().waiting.remove(&self.number);
        // It does not wait for a running callback, which may be the caller of this drop.
        // Such a callback no longer finds a waker.
        // SAFETY: it was registered, and is unregistered once.
        unsafe { UnregisterWaitEx(self.registered, ptr::null_mut()) };
        drop(waker);
    }
}

unsafe extern "system" fn exited(number: *mut std::ffi::c_void, _: bool) {
    let waker = WAKERS.lock().waiting.remove(&number.addr());
    if let Some(waker) = waker {
        waker.wake();
    }
}
