//! On which processors threads may run.

use libc::c_long;

/// A set of processors: as many as Linux can be built for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Affinity([usize; 128]);

const BITS: usize = usize::BITS as usize;

impl Affinity {
    fn none() -> Self {
        Self([0; 128])
    }

    /// Returns the processors on which this thread may run.
    pub fn of_this_thread() -> Option<Self> {
        Self::of(0)
    }

    /// Returns the processors on which any thread of this process may run.
    pub fn of_all_threads() -> Option<Self> {
        let mut all = Self::none();
        for entry in std::fs::read_dir("/proc/self/task").ok()? {
            let thread: libc::pid_t = entry.ok()?.file_name().to_str()?.parse().ok()?;
            match Self::of(thread) {
                Some(Self(some)) => {
                    (all.0.iter_mut().zip(some)).for_each(|(all, some)| *all |= some)
                }
                // It has ended.
                None if std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH) => {}
                None => return None,
            }
        }
        Some(all)
    }

    fn of(thread: libc::pid_t) -> Option<Self> {
        // Miri does not know the call.
        if cfg!(miri) {
            return None;
        }
        let mut set = Self::none();
        let size = size_of_val(&set.0);
        // SAFETY: the system writes no more than `size` bytes.
        let written: c_long = unsafe {
            libc::syscall(
                libc::SYS_sched_getaffinity,
                thread,
                size,
                set.0.as_mut_ptr(),
            )
        };
        (written > 0).then_some(set)
    }

    /// Lets this thread run on `processor` only. Returns `true` if the system agreed.
    pub fn bind_this_thread(processor: usize) -> bool {
        let mut set = Self::none();
        let Some(word) = set.0.get_mut(processor / BITS) else {
            return false;
        };
        *word = 1 << (processor % BITS);
        let size = size_of_val(&set.0);
        // SAFETY: the system reads no more than `size` bytes.
        let result = unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size, set.0.as_ptr()) };
        result == 0
    }

    /// Returns the processors' numbers.
    pub fn processors(&self) -> impl Iterator<Item = usize> + '_ {
        let has = |&processor: &usize| self.0[processor / BITS] & 1 << (processor % BITS) != 0;
        (0..self.0.len() * BITS).filter(has)
    }
}
