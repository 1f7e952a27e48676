//! A point before each store to shared memory at which a test can kill the process.
//!
//! Without the feature `stepping`, `point` does nothing. With it, the process kills itself,
//! as `kill -9` would, at the point whose number is in `BLITZ_IPC_STEP`. Counting begins at
//! the first point after `arm`.
//!
//! A test of this crate can instead run a function at each point that its thread reaches.

#[inline(always)]
pub(crate) fn point() {
    #[cfg(feature = "stepping")]
    stepping::point();
    #[cfg(test)]
    hook::point();
}

#[cfg(test)]
pub(crate) use hook::at_each_point;
#[cfg(feature = "stepping")]
pub use stepping::{arm, passed};

#[cfg(test)]
mod hook {
    use std::cell::RefCell;

    thread_local! {
        static HOOK: RefCell<Option<Box<dyn FnMut()>>> = const { RefCell::new(None) };
    }

    /// Runs `f`, and `hook` before each store to shared memory that this thread makes in
    /// `f`, but not before those that `hook` makes.
    pub(crate) fn at_each_point<R>(hook: impl FnMut() + 'static, f: impl FnOnce() -> R) -> R {
        HOOK.set(Some(Box::new(hook)));
        let result = f();
        drop(HOOK.take());
        result
    }

    pub(super) fn point() {
        if let Some(mut hook) = HOOK.take() {
            hook();
            HOOK.set(Some(hook));
        }
    }
}

#[cfg(feature = "stepping")]
mod stepping {
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Number of points that are left to pass; 0 if not armed.
    static LEFT: AtomicU64 = AtomicU64::new(0);
    static PASSED: AtomicU64 = AtomicU64::new(0);

    /// Starts to count points. The process dies at number `at`, counted from 1.
    pub fn arm(at: u64) {
        PASSED.store(0, Ordering::Relaxed);
        LEFT.store(at, Ordering::Relaxed);
    }

    /// Returns how many points this process has passed since `arm`.
    pub fn passed() -> u64 {
        PASSED.load(Ordering::Relaxed)
    }

    #[inline(never)]
    pub(crate) fn point() {
        PASSED.fetch_add(1, Ordering::Relaxed);
        if LEFT.load(Ordering::Relaxed) != 0 && LEFT.fetch_sub(1, Ordering::Relaxed) == 1 {
            die();
        }
    }

    #[cfg(unix)]
    fn die() -> ! {
        // SAFETY: a process may kill itself.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        loop {
            std::thread::park();
        }
    }

    #[cfg(not(unix))]
    fn die() -> ! {
        std::process::abort()
    }
}
