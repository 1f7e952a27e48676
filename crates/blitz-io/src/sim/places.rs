//! Lines of the simulation itself, which a report leaves out.

/// Returns `true` if a location is in the code of simulations. It begins with the path of a file.
pub(super) fn is_internal(location: &str) -> bool {
    let own = file!();
    let folder = own.len() - own.rsplit(['/', '\\']).next().map_or(0, str::len);
    location.starts_with(&own[..folder])
}

/// Returns `true` if a location is where `hosts.rs` spawns: the first task of a host, or one that injects faults.
pub(super) fn is_of_hosts(location: &str) -> bool {
    let file = location.rsplit(['/', '\\']).next().unwrap_or(location);
    is_internal(location) && file.starts_with("hosts.rs:")
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
    fn files_of_this_folder_are_internal() {
        assert!(is_internal(file!()));
        let hosts = file!().replace("places.rs", "hosts.rs:12");
        assert!(is_internal(&hosts) && is_of_hosts(&hosts));
        assert!(!is_of_hosts(file!()) && !is_of_hosts("src/hosts.rs:12"));
        assert!(!is_internal("tests/sim.rs:12") && !is_of_files("tests/sim.rs:12"));
    }
}
