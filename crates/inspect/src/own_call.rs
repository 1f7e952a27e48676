//! The line of the program itself that has called something.

use std::path::Path;

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub(crate) use crate::frames::frames;
use crate::names::short;
use crate::origin::{Origin, origin};
use crate::snapshot::Frame;

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
pub(crate) fn frames(_: u64) -> Vec<Frame> {
    vec![]
}

/// Returns the innermost of these calls that the program itself makes, as its line, or its function if no line is known. If
/// it makes none, that of a package, and at last of a function without a line. The addresses are those of a stack, the
/// innermost first.
pub fn own_call(addresses: &[usize]) -> Option<String> {
    let folder = std::env::current_dir().unwrap_or_default();
    let mut best: Option<(Origin, Frame)> = None;
    for frame in addresses.iter().flat_map(|&address| frames(address as u64)) {
        let of = origin(&frame.function, &frame.location);
        if of < Origin::Library && best.as_ref().is_none_or(|(other, _)| of < *other) {
            best = Some((of, frame));
        }
        if of == Origin::Program {
            break;
        }
    }
    best.map(|(_, frame)| named(frame, &folder))
}

/// Returns the line, from the current folder or its package on; otherwise the function.
pub(crate) fn named(frame: Frame, folder: &Path) -> String {
    let Frame { function, location } = frame;
    if location.is_empty() {
        return function;
    }
    let below = Path::new(&location).strip_prefix(folder);
    let below = below.ok().and_then(Path::to_str);
    below.unwrap_or_else(|| short(&location)).to_owned()
}
