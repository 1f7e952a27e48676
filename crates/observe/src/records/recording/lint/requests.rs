//! The tasks that work for a request of the program's, which it has marked with `trace::request`.

use blitz_io_futex::per_process::PerProcess;

use crate::records::kernel::counted_map::CountedMap;

/// The most tasks with a request.
const MOST: usize = 1 << 16;

/// The number of requests of a task or thread, by its word.
static REQUESTS: PerProcess<CountedMap<u32>> = PerProcess::new(CountedMap::default);

/// A request begins in the task or thread with this word. Returns `false` if there is no room for it.
pub(super) fn begin(owner: u64) -> bool {
    let mut is_known = false;
    REQUESTS.change(owner, |count| {
        *count += 1;
        is_known = true;
        true
    });
    is_known || REQUESTS.add(owner, 1, MOST).is_ok()
}

/// It ends, or goes into a future.
pub(super) fn end(owner: u64) {
    REQUESTS.change(owner, |count| {
        *count -= 1;
        *count != 0
    });
}

/// Returns `true` if the task or thread works for a request.
pub(super) fn has(owner: u64) -> bool {
    let mut found = false;
    REQUESTS.change(owner, |_| {
        found = true;
        true
    });
    found
}
