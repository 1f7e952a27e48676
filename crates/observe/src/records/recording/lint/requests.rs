//! The tasks that work for a request of the program's, which it has marked with `trace::request`.

use blitz_io_futex::per_process::PerProcess;

use crate::records::kernel::counted_map::CountedMap;

/// The most tasks with a request.
const MOST: usize = 1 << 16;

/// The requests of a task or thread.
struct Requests {
    count: u32,
    /// The place of the name of the first one.
    name: u64,
}

/// The requests of tasks and threads, by their words.
static REQUESTS: PerProcess<CountedMap<Requests>> = PerProcess::new(CountedMap::default);

/// A request begins in the task or thread with this word. `name`: the place of its name. Returns `false` if there is no room
/// for it.
pub(super) fn begin(owner: u64, name: u64) -> bool {
    let mut is_known = false;
    REQUESTS.change(owner, |requests| {
        requests.count += 1;
        is_known = true;
        true
    });
    is_known
        || REQUESTS
            .add(owner, Requests { count: 1, name }, MOST)
            .is_ok()
}

/// It ends, or goes into a future.
pub(super) fn end(owner: u64) {
    REQUESTS.change(owner, |requests| {
        requests.count -= 1;
        requests.count != 0
    });
}

/// Returns the place of the name of the first request for which the task or thread works, if there is one.
pub(super) fn name_of(owner: u64) -> Option<u64> {
    let mut name = None;
    REQUESTS.change(owner, |requests| {
        name = Some(requests.name);
        true
    });
    name
}
