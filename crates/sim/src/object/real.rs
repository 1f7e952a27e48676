//! The functions that this object's symbols hide.

use core::ffi::CStr;

use crate::c;

/// Looks up the next definition of a symbol.
pub unsafe fn next(name: &CStr) -> usize {
    let found = c::dlsym(c::RTLD_NEXT, name.as_ptr()) as usize;
    if found == 0 {
        crate::sys::exit_group(127);
    }
    found
}

/// `real!("name", fn(..) -> ..)`: libc's function of this name. It is looked up once.
macro_rules! real {
    ($name:expr, fn($($argument:ty),*) -> $result:ty) => {{
        static FOUND: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
        let mut found = FOUND.load(core::sync::atomic::Ordering::Relaxed);
        if found == 0 {
            // The name is a literal without a zero byte; this one ends it.
            let name = core::ffi::CStr::from_ptr(concat!($name, "\0").as_ptr().cast());
            found = $crate::real::next(name);
            FOUND.store(found, core::sync::atomic::Ordering::Relaxed);
        }
        core::mem::transmute::<usize, unsafe extern "C" fn($($argument),*) -> $result>(found)
    }};
}
pub(crate) use real;
