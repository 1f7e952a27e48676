//! The simulator of `blitz sim`, which runs a program with an object loaded before it. The object has a function that
//! takes the one by which the program explains a deadlock.

/// Takes a part of a report, as a pointer to its bytes and their number.
pub type Write = unsafe extern "C" fn(*const u8, usize);

/// Writes a report about threads. They are given by a pointer to the system's numbers for them, and their count.
pub type Explain = unsafe extern "C" fn(*const u32, usize, Write);

/// Returns `true` if the program runs under `blitz sim`.
pub fn is_simulated() -> bool {
    system::object().is_some()
}

/// Gives the simulator, if there is one, the function that it calls when no thread can run any more.
pub fn explain_deadlocks_by(explain: Explain) {
    if let Some(take) = system::object() {
        // SAFETY: the object keeps the function, which is valid as long as the process lives.
        unsafe { take(explain) };
    }
}

/// The object's function.
type Take = unsafe extern "C" fn(Explain);

// The simulator's systems. Programs that are linked statically have no objects.
#[cfg(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_env = "gnu",
    not(target_feature = "crt-static")
))]
mod system {
    use std::ffi::c_void;
    use std::mem::transmute;
    use std::sync::OnceLock;

    use super::Take;

    pub(super) fn object() -> Option<Take> {
        static FOUND: OnceLock<Option<Take>> = OnceLock::new();
        *FOUND.get_or_init(|| {
            // SAFETY: the name ends with a 0.
            let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"blitz_sim_explains".as_ptr()) };
            // SAFETY: only the object has a function of this name, and its type is this one.
            (!found.is_null()).then(|| unsafe { transmute::<*mut c_void, Take>(found) })
        })
    }
}

#[cfg(not(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_env = "gnu",
    not(target_feature = "crt-static")
)))]
mod system {
    pub(super) fn object() -> Option<super::Take> {
        None
    }
}
