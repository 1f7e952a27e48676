//! The functions at an address of this process, and their lines.

use std::ffi::c_void;

use crate::snapshot::Frame;

/// Returns the function at this address, after those that the compiler has inlined there.
pub(crate) fn frames(address: u64) -> Vec<Frame> {
    let mut found = Vec::new();
    backtrace::resolve(address as *mut c_void, |symbol| {
        let file = symbol.filename().zip(symbol.lineno());
        found.push(Frame {
            function: symbol
                .name()
                .map(|name| format!("{name:#}"))
                .unwrap_or_default(),
            location: file
                .map(|(file, line)| format!("{}:{line}", file.display()))
                .unwrap_or_default(),
        });
    });
    if found.is_empty() {
        found.push(Frame {
            function: format!("{address:#x}"),
            location: String::new(),
        });
    }
    found
}
