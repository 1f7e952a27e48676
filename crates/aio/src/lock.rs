//! The lock of in-memory streams and of split streams: `thread::Mutex` of `blitz-io-sync`.
//! Under the model checker it is loom's own, since the former has its own models.

#[cfg(not(loom))]
pub(crate) use blitz_io_sync::thread::Mutex;

#[cfg(loom)]
#[derive(Debug)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

#[cfg(loom)]
impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
        self.0.lock().unwrap()
    }

    pub(crate) fn into_inner(self) -> T {
        self.0.into_inner().unwrap()
    }
}
