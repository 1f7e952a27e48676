//! The simulated disks of a run, if this crate has files.

#[cfg(feature = "fs")]
pub(super) use blitz_io_os::simulation::{Entered, Trouble, enter, set_trouble, stop};
#[cfg(not(feature = "fs"))]
pub(super) use none::{Entered, enter, stop};

#[cfg(not(feature = "fs"))]
mod none {
    use std::time::SystemTime;

    pub(in crate::sim) struct Entered;

    pub(in crate::sim) fn enter(_: fn() -> SystemTime) -> Entered {
        Entered
    }

    pub(in crate::sim) fn stop(_host: u32, _is_off: bool) -> Vec<String> {
        Vec::new()
    }
}
