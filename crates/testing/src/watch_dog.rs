//! A lost wake-up must fail the tests, and not hang them.

use std::process::abort;
use std::sync::Once;
use std::thread;
use std::time::Duration;

/// All tests of a program together take some seconds, under a sanitizer some minutes.
const ENOUGH: Duration = Duration::from_secs(900);

/// Ends the program if it takes too long. To be called by each test that waits. The test harness
/// has named the hanging test by then: it names those that have run for a minute.
pub fn watch() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        thread::spawn(|| {
            thread::sleep(ENOUGH);
            eprintln!("a test hangs: a wake-up was lost");
            abort();
        });
    });
}
