//! Lines of the simulation itself, which a report leaves out.

/// Returns `true` if a location is in the code of simulations. It begins with the path of a file.
pub(super) fn is_internal(location: &str) -> bool {
    let own = file!();
    let folder = own.len() - own.rsplit(['/', '\\']).next().map_or(0, str::len);
    location.starts_with(&own[..folder])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_this_folder_are_internal() {
        assert!(is_internal(file!()));
        assert!(is_internal(&file!().replace("places.rs", "hosts.rs:12")));
        assert!(!is_internal("tests/sim.rs:12"));
    }
}
