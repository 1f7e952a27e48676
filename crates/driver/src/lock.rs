//! The lock of this crate: `blitz-io-sync`'s mutex, or loom's in a model, where it takes one
//! step instead of ten.

#[cfg(not(loom))]
pub use blitz_io_sync::thread::Mutex;

#[cfg(loom)]
pub use model::Mutex;

#[cfg(loom)]
mod model {
    use std::sync::PoisonError;

    use loom::sync::MutexGuard;

    pub struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}
