//! `join` after a panic, as in rayon-core: the second closure runs while no panic unwinds.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;

use rayon_core::{ThreadPoolBuilder, join};

/// Joins two closures that panic, and returns the message of the panic. The second one records `thread::panicking()`,
/// and holds a lock when it panics.
fn panic_twice() -> (&'static str, Option<bool>, bool) {
    let (mut seen, lock) = (None, Mutex::new(()));
    let second = || {
        let _held = lock.lock().unwrap();
        seen = Some(thread::panicking());
        panic!("second");
    };
    let both = || join(|| panic!("first"), second);
    let payload = catch_unwind(AssertUnwindSafe(both)).map(|((), ())| ());
    let message = payload.unwrap_err().downcast_ref().copied();
    (message.unwrap(), seen, lock.is_poisoned())
}

#[test]
fn the_second_closure_runs_while_no_panic_unwinds() {
    let expected = ("first", Some(false), true);
    assert_eq!(panic_twice(), expected, "from outside");
    for threads in [1, 2] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        assert_eq!(pool.unwrap().install(panic_twice), expected);
    }
}
