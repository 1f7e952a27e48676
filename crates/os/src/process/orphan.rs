//! Children whose `Child` was dropped before they had exited.
//!
//! The system keeps a child that has exited until its parent has asked for the status:
//! until then it is a zombie. So a task of the runtime waits for an orphan. When the
//! runtime ends first, the orphan goes to a list, which is checked whenever a child is
//! started.

use std::io;
use std::process::{Child, ExitStatus};
use std::task::{Context, Poll};

use blitz_io_core::PerProcess;
use blitz_io_runtime::runtime::Handle;
use blitz_io_sync::thread::Mutex;

use super::exit::Exit;

// A forked child cannot wait for the children of its parent.
static LEFT: PerProcess<Mutex<Vec<Child>>> = PerProcess::new(Mutex::default);

/// A child that has not been waited for. When this is dropped, the child becomes an orphan.
#[derive(Debug)]
pub(super) struct Waiting {
    inner: Option<(Child, Exit)>,
    runtime: Handle,
    /// Tells whether it is already in its task.
    is_orphan: bool,
}

impl Waiting {
    /// Removes the children in the list that have exited, and so reaps them.
    pub(super) fn reap() {
        // Also drops children for which `try_wait` fails.
        LEFT.lock()
            .retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    }

    /// # Errors
    ///
    /// Returns the system's errors, for example if there are no descriptors left. Then the
    /// child is in the list.
    #[track_caller]
    pub(super) fn new(child: Child, runtime: Handle) -> io::Result<Self> {
        match Exit::of(&child) {
            Ok(exit) => Ok(Self {
                inner: Some((child, exit)),
                runtime,
                is_orphan: false,
            }),
            Err(error) => {
                LEFT.lock().push(child);
                Err(error)
            }
        }
    }

    pub(super) fn child(&mut self) -> &mut Child {
        &mut self.inner.as_mut().expect("it is there until the drop").0
    }

    pub(super) fn id(&self) -> u32 {
        self.inner
            .as_ref()
            .expect("it is there until the drop")
            .0
            .id()
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        let (child, exit) = self.inner.as_mut().expect("it is there until the drop");
        exit.poll(cx, child)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Some((mut child, exit)) = self.inner.take() else {
            return;
        };
        // The child caches its status: asking again is cheap.
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        if self.is_orphan {
            LEFT.lock().push(child);
            return;
        }
        let mut orphan = Self {
            inner: Some((child, exit)),
            runtime: self.runtime.clone(),
            is_orphan: true,
        };
        // A runtime that has ended drops the task at once.
        let wait = async move { std::future::poll_fn(|cx| orphan.poll(cx)).await };
        drop(self.runtime.spawn(wait));
    }
}
