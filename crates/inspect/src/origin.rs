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
    /// std, or this library.
    System,
}

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
        short if short == place => Origin::Program,
        short if short.starts_with("blitz-io-") => Origin::System,
        _ => Origin::Package,
    }
}
