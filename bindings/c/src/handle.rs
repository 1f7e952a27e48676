//! Handles: objects of this library that C knows by a pointer.

/// Returns a new handle.
pub(crate) fn handle<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Takes a handle back. Returns `None` for NULL.
pub(crate) fn take<T>(pointer: *mut T) -> Option<Box<T>> {
    // SAFETY: rules 1 and 4 of `args.rs`: it comes from `handle`, and is not used again.
    (!pointer.is_null()).then(|| unsafe { Box::from_raw(pointer) })
}
