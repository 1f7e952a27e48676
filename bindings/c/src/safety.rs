//! The section `# Safety` of the functions that take pointers.

/// Expands to the section. The header states the rules at its top, once for all functions; so the
/// section comes from a macro, which cbindgen does not copy.
macro_rules! safety {
    () => {
        "
# Safety

Every pointer, and what it points to, follows the rules at the head of `blitz.h` (rules 1 to 5 at the
head of `args.rs`) and what is said above."
    };
}

/// Calls a function of the header with an object by value, which a test has initialised.
#[cfg(test)]
pub(crate) fn call<T>(
    function: unsafe extern "C" fn(*mut T) -> std::ffi::c_int,
    object: &mut T,
) -> std::ffi::c_int {
    // SAFETY: the object lives and keeps its place during the call, and only this thread uses it.
    unsafe { function(object) }
}
