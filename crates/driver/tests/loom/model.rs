//! Helpers that the models share.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use blitz_io_driver::{Driver, Registration, Wakers, model::Source};

pub use blitz_io_models::{block_on, model_in_order as model, poll};

/// Creates a driver and one source that is registered with it. The registration is not
/// dropped, since it cannot be after a deadlock was found.
pub fn driver() -> (Arc<Driver>, Source, ManuallyDrop<Registration>) {
    let driver = Driver::new(8, None).unwrap();
    let (source, registration) = register(&driver);
    (driver, source, registration)
}

/// Registers one more source.
pub fn register(driver: &Arc<Driver>) -> (Source, ManuallyDrop<Registration>) {
    let mut source = Source::default();
    let registration = Registration::new(&mut source, (), driver).unwrap();
    (source, ManuallyDrop::new(registration))
}

/// Parks once, and wakes the ready tasks.
pub fn park(driver: &Driver) -> bool {
    let mut wakers = Wakers::new();
    let unparked = driver.park(None, &mut wakers);
    wakers.wake_all();
    unparked
}
