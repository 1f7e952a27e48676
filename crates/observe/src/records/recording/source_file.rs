//! Whose code a source file is.

/// Returns `true` for a file of this library or of the standard library.
pub(super) fn is_adapter(file: &str) -> bool {
    is_of_std(file) || is_of_library(file)
}

/// Returns `true` for a file of Rust's own libraries, whose folder is that of the compiler, or of its installed sources.
fn is_of_std(file: &str) -> bool {
    let folders = file.split(['/', '\\']);
    let mut folders = folders.skip_while(|folder| *folder != "library");
    folders.next().is_some() && matches!(folders.next(), Some("alloc" | "core" | "std"))
}

/// Returns `true` for a source of a crate beside this one: in the repository, or in a registry, where the folders have the
/// names of the packages.
pub(super) fn is_of_library(file: &str) -> bool {
    let own = file!();
    let beside = own.rfind("observe").map_or("", |at| &own[..at]);
    let rest = file.strip_prefix(beside).filter(|_| !beside.is_empty());
    let mut folders = rest.into_iter().flat_map(|rest| rest.split(['/', '\\']));
    folders.nth(1) == Some("src")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adapters_are_in_libraries() {
        for file in [
            "/rustc/59807616e1/library/core/src/future/future.rs",
            "/srv/rust/lib/rustlib/src/rust/library/alloc/src/boxed.rs",
            &file!().replace("observe", "runtime"),
        ] {
            assert!(is_adapter(file), "{file}");
        }
        for file in [
            "src/main.rs",
            "library/src/lib.rs",
            &file!().replace("observe/src", "observe/tests"),
        ] {
            assert!(!is_adapter(file), "{file}");
        }
    }
}
