//! Lines of the simulation itself and of the standard library, which a report leaves out.

use blitz_io_inspect::short_place;

/// Returns `true` if a location is in the code of simulations. It begins with the path of a file.
pub(super) fn is_internal(location: &str) -> bool {
    let own = file!();
    let folder = own.len() - own.rsplit(['/', '\\']).next().map_or(0, str::len);
    location.starts_with(&own[..folder])
}

/// Returns `true` if a location is where `hosts.rs` spawns: the first task of a host, or one that injects faults.
pub(super) fn is_of_hosts(location: &str) -> bool {
    is_internal(location) && name(location).starts_with("hosts.rs:")
}

/// Returns `true` if a file is that of the tasks that inject faults.
pub(super) fn is_of_injectors(file: &str) -> bool {
    is_internal(file) && name(file) == "faults.rs"
}

/// Returns a location without the folders.
fn name(location: &str) -> &str {
    location.rsplit(['/', '\\']).next().unwrap_or(location)
}

/// Returns `true` if a location is in the standard library, as a function was called as a value.
pub(super) fn is_of_std(location: &str) -> bool {
    let short = short_place(location);
    let mut crates = ["core", "alloc", "std"].iter();
    crates.any(|name| short.starts_with(&format!("library/{name}/")))
}

/// Returns `true` if a location is in the code of files: that of a task which is an operation on one, or of a part of one.
pub(super) fn is_of_files(location: &str) -> bool {
    #[cfg(feature = "fs")]
    return blitz_io_os::simulation::is_own(location);
    #[cfg(not(feature = "fs"))]
    {
        let _ = location;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_is_a_value_is_called_by_the_standard_library() {
        assert!(is_of_std("/rustc/0123abc/library/core/src/ops/function.rs"));
        assert!(!is_of_std("library/src/ops/function.rs") && !is_of_std(file!()));
    }

    #[test]
    fn files_of_this_folder_are_internal() {
        assert!(is_internal(file!()));
        let hosts = file!().replace("places.rs", "hosts.rs:12");
        assert!(is_internal(&hosts) && is_of_hosts(&hosts));
        assert!(is_of_injectors(&file!().replace("places", "faults")) && !is_of_injectors(&hosts));
        assert!(!is_of_hosts(file!()) && !is_of_hosts("src/hosts.rs:12"));
        assert!(!is_internal("tests/sim.rs:12") && !is_of_files("tests/sim.rs:12"));
    }
}
