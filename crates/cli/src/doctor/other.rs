//! Systems without calls of their own to try: only the processors are reported.

use super::{Processors, System};

/// Returns what the standard library knows.
pub fn probe() -> System {
    let allowed = std::thread::available_parallelism().map_or(1, |n| n.get());
    System {
        processors: Processors {
            online: allowed,
            allowed,
            quota: None,
        },
        ..System::default()
    }
}
