//! To which core each thread of a pool is bound.

use std::io;

/// A core's number, as the system counts.
pub(crate) type Core = usize;

/// The way in which a pool's threads are bound to cores, if at all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Pin {
    /// The system decides, and may move threads.
    #[default]
    None,
    /// Binds thread `n` to the `n`-th core that this process may use. Of the cores that are
    /// hyper-threads of one another, all but the first come last.
    Cores,
    /// Binds thread `n` to the `n`-th core of this list, which starts again at its end. The
    /// system counts cores from 0.
    List(Vec<usize>),
}

impl Pin {
    /// Returns the cores, in the order of the threads.
    pub(crate) fn cores(&self) -> io::Result<Vec<Core>> {
        let wanted = match self {
            Self::None => return Ok(Vec::new()),
            Self::Cores => None,
            Self::List(list) => Some(list),
        };
        let allowed = system::allowed()
            .filter(|cores| !cores.is_empty())
            .ok_or_else(|| {
                let what = "the system does not tell which cores this process may use, so threads cannot be pinned";
                io::Error::new(io::ErrorKind::Unsupported, what)
            })?;
        let Some(wanted) = wanted else {
            return Ok(hyper_threads_last(allowed));
        };
        if wanted.is_empty() {
            let what = "the list of cores to pin threads to is empty";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let find = |&id: &usize| {
            allowed
                .iter()
                .copied()
                .find(|&core| core == id)
                .ok_or_else(|| {
                    let what = format!(
                        "core {id} is not among those that this process may use ({allowed:?}): \
                     see `taskset -p` and the cpuset of its control group"
                    );
                    io::Error::new(io::ErrorKind::InvalidInput, what)
                })
        };
        wanted.iter().map(find).collect()
    }
}

/// Moves every core that shares its execution units with an earlier one to the end.
fn hyper_threads_last(mut cores: Vec<Core>) -> Vec<Core> {
    cores.sort_by_key(|&core| (is_second_thread(core), core));
    cores
}

/// Returns `true` if Linux says that a hyper-thread of the same core has a smaller number. On
/// other systems every core counts as separate.
fn is_second_thread(core: usize) -> bool {
    let path = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
    let first = std::fs::read_to_string(path).ok().and_then(|siblings| {
        let digits = siblings.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse::<usize>().ok()
    });
    first.is_some_and(|first| first < core)
}

/// Binds this thread to `core`. If the core has been taken away since the pool was made,
/// the thread runs unbound.
pub(crate) fn pin_current_thread(core: Core) {
    system::bind(core);
}

#[cfg(any(target_os = "android", target_os = "linux"))]
mod system {
    use blitz_io_core::Affinity;

    /// Returns the cores that this thread may use, if the system tells.
    pub(super) fn allowed() -> Option<Vec<usize>> {
        Some(Affinity::of_this_thread()?.processors().collect())
    }

    pub(super) fn bind(core: usize) {
        Affinity::bind_this_thread(core);
    }
}

#[cfg(not(any(target_os = "android", target_os = "linux")))]
mod system {
    use core_affinity::CoreId;

    pub(super) fn allowed() -> Option<Vec<usize>> {
        let cores = core_affinity::get_core_ids()?;
        Some(cores.into_iter().map(|core| core.id).collect())
    }

    pub(super) fn bind(core: usize) {
        core_affinity::set_for_current(CoreId { id: core });
    }
}
