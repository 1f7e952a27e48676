//! Where the functions of a stack are from.

use crate::names::short;

/// The part of a program from which a function is. Those that say more to its reader are first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Origin {
    /// The program itself.
    Program,
    /// A package of a registry or a repository.
    Package,
    /// It has no line.
    Unknown,
    /// This library, or one of its drop-in packages.
    Library,
    /// std.
    System,
}

/// The packages of this library have names that begin with `blitz_io_`, and a program's own may, too.
const OF_LIBRARY: [&str; 15] = [
    "aio", "channel", "core", "driver", "fiber", "futex", "inspect", "ipc", "net", "observe", "os",
    "pipeline", "pool", "runtime", "sync",
];

/// The folders of the drop-in packages, in a checkout.
const DROP_INS: [&str; 5] = [
    "/drop-in/tokio/src/",
    "/drop-in/parking_lot/src/",
    "/drop-in/parking_lot_core/src/",
    "/drop-in/rayon-core/src/",
    "/drop-in/atomic-wait/src/",
];

/// The source of this package, as it was compiled. Those of the library's other packages lie beside it in a checkout, and where
/// packages are vendored.
const OWN_FOLDER: Option<&str> = option_env!("CARGO_MANIFEST_DIR");

/// Names of functions of std begin with one of these.
const OF_STD: [&str; 13] = [
    "std::",
    "core::",
    "alloc::",
    "test::",
    "<std::",
    "<core::",
    "<alloc::",
    "__rust",
    "rust_begin",
    "_start",
    "__libc",
    "<&",
    "<T as core::",
];

/// Returns the origin of a function, by its line if that is known, such as `/u/me/app/src/lib.rs:7`.
pub fn origin(function: &str, place: &str) -> Origin {
    if is_of_library(function) {
        return Origin::Library;
    }
    if place.is_empty() {
        let is_std = OF_STD.iter().any(|known| function.starts_with(known));
        return if is_std {
            Origin::System
        } else {
            Origin::Unknown
        };
    }
    if place.contains("/rustc/") || place.contains("/rustlib/src/rust/library/") {
        return Origin::System;
    }
    match short(place) {
        short if short.starts_with("blitz-io-") => Origin::Library,
        _ if is_beside(place, function, OWN_FOLDER) => Origin::Library,
        _ if DROP_INS.iter().any(|folder| place.contains(folder)) => Origin::Library,
        short if short == place => Origin::Program,
        _ => Origin::Package,
    }
}

/// Returns `true` for a function of this library, wherever its source is: also in a checkout, whose files look as those of the
/// program. The library's own unit tests are programs.
fn is_of_library(function: &str) -> bool {
    let path = function.trim_start_matches(['<', '&']);
    let Some((package, rest)) = path.split_once("::") else {
        return false;
    };
    let part = package.strip_prefix("blitz_io");
    let is_own = part.is_some_and(|part| match part.strip_prefix('_') {
        Some(part) => OF_LIBRARY.contains(&part),
        None => part.is_empty(),
    });
    is_own && !is_of_tests(rest)
}

/// Returns `true` for a function of the library's own unit tests.
fn is_of_tests(function: &str) -> bool {
    function.contains("tests::")
}

/// Returns `true` for a line of this library whose packages are beside this one, in the folder `own`. With line tables only, a
/// function that was inlined has no path in its name, and in a checkout its file looks as those of the program. Tests, examples
/// and benches of the packages are programs.
fn is_beside(place: &str, function: &str, own: Option<&str>) -> bool {
    let found = own.and_then(|own| {
        let (folder, package) = own.rsplit_once(['/', '\\'])?;
        let before = package.strip_suffix("inspect")?;
        let place = place.strip_prefix(folder)?.strip_prefix(['/', '\\'])?;
        let mut parts = place.splitn(3, ['/', '\\']);
        Some((before, parts.next()?, parts.next()?))
    });
    let Some((before, package, "src")) = found else {
        return false;
    };
    let part = package.strip_prefix(before);
    let is_own = package == "blitz-io" || part.is_some_and(|part| OF_LIBRARY.contains(&part));
    is_own && !is_of_tests(function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_library_are_known_by_their_names_and_others_by_their_places() {
        let registry = "/u/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f";
        let of = |function: &str, place: &str| origin(function, place);
        let checkout = "/u/blitz-io/crates/core/src/parker.rs:70";
        for function in [
            "blitz_io_core::parker::Parker::wait",
            "<blitz_io_runtime::api::Root as blitz_io_core::Sleeper>::sleep",
            "blitz_io::sim::system::syscall",
        ] {
            assert_eq!(of(function, checkout), Origin::Library, "{function}");
            assert_eq!(of(function, ""), Origin::Library, "{function}");
        }
        for function in [
            "app::main",
            "blitz_io_app::main",
            "blitz_iota::main",
            "<app::Both as core::future::Future>::poll",
            "blitz_io_core::parker::tests::a_test",
        ] {
            let place = "/u/app/src/lib.rs:7";
            assert_eq!(of(function, place), Origin::Program, "{function}");
        }
        let drop_in = "/u/blitz-io/drop-in/tokio/src/lib.rs:9";
        assert_eq!(of("tokio::task::spawn", drop_in), Origin::Library);
        let own = format!("{registry}/blitz-io-sync-0.2.0/src/lib.rs:3");
        assert_eq!(of("", &own), Origin::Library);
        let other = format!("{registry}/axum-0.8.9/src/lib.rs:3");
        assert_eq!(of("axum::serve", &other), Origin::Package);
        let std = "/rustc/59807616e/library/std/src/lib.rs:1";
        assert_eq!(of("std::thread::park", std), Origin::System);
        assert_eq!(of("core::ops::call", ""), Origin::System);
        assert_eq!(of("main", ""), Origin::Unknown);
    }

    #[test]
    fn functions_without_a_path_are_known_by_the_folders_beside_this_package() {
        let beside = |own: &str, place: &str| is_beside(place, "{closure#0}<()>", Some(own));
        let checkout = |place: &str| beside("/u/blitz-io/crates/inspect", place);
        for place in [
            "/u/blitz-io/crates/blitz-io/src/sim/system/calls.rs:30",
            "/u/blitz-io/crates/core/src/parker.rs:70",
            "/u/blitz-io/crates/inspect/src/own_stack.rs:51",
        ] {
            assert!(checkout(place), "{place}");
        }
        for place in [
            "/u/blitz-io/crates/blitz-io/tests/it/system.rs:9",
            "/u/blitz-io/crates/blitz-io/examples/src/main.rs:9",
            "/u/blitz-io/crates/app/src/core/src/lib.rs:9",
            "/u/blitz-io/crates-of-app/core/src/lib.rs:9",
            "/u/app/crates/core/src/lib.rs:9",
            "src/core/src/lib.rs:9",
            "",
        ] {
            assert!(!checkout(place), "{place}");
        }
        let vendored = |place: &str| beside("/u/app/vendor/blitz-io-inspect", place);
        assert!(vendored("/u/app/vendor/blitz-io-core/src/parker.rs:70"));
        assert!(vendored("/u/app/vendor/blitz-io/src/lib.rs:70"));
        assert!(!vendored("/u/app/vendor/core/src/lib.rs:70"));
        // The library's own unit tests are programs.
        let test = "blitz_io_core::parker::tests::a_test";
        let (place, own) = ("/u/crates/core/src/parker.rs:7", Some("/u/crates/inspect"));
        assert!(!is_beside(place, test, own));
        assert!(!is_beside(place, "park", None));
        // This is the folder that a program has.
        let here = format!("{}/src/origin.rs:1", env!("CARGO_MANIFEST_DIR"));
        assert_eq!(origin("inlined", &here), Origin::Library);
    }
}
