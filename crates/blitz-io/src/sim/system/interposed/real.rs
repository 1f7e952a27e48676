//! The functions of the C library itself.
//!
//! Each is looked up by its name in the objects behind this one. So an object that was loaded before the others, such as the
//! simulator of `blitz sim`, still gets the call.

use std::ffi::{CStr, c_void};
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function of the C library, of the type `F`: that of a pointer to a function.
pub(super) struct Real<F> {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
    function: PhantomData<F>,
}

impl<F: Copy> Real<F> {
    pub(super) const fn new(name: &'static CStr) -> Self {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        Self {
            name,
            found: AtomicPtr::new(ptr::null_mut()),
            function: PhantomData,
        }
    }

    /// Returns the function; `None` if the C library has none of this name.
    #[inline]
    pub(super) fn get(&self) -> Option<F> {
        let found = self.found.load(Ordering::Relaxed);
        let found = if found.is_null() {
            self.look_up()
        } else {
            found
        };
        // SAFETY: the symbol of this name is a function of the type `F`, whose size `new` has checked.
        (!found.is_null()).then(|| unsafe { std::mem::transmute_copy(&found) })
    }

    #[cold]
    fn look_up(&self) -> *mut c_void {
        // SAFETY: the name ends with a zero.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.found.store(found, Ordering::Relaxed);
        found
    }
}
