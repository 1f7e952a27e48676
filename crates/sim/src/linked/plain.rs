//! Functions that the instrumentation calls for plain accesses: they do nothing, and copies copy.

use core::ffi::{c_int, c_void};

/// Functions of one or two arguments that do nothing.
macro_rules! nothing {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(_: *const c_void, _: usize) {}
    )*};
}

nothing! {
    __tsan_func_entry __tsan_func_exit
    __tsan_read1 __tsan_read2 __tsan_read4 __tsan_read8 __tsan_read16
    __tsan_write1 __tsan_write2 __tsan_write4 __tsan_write8 __tsan_write16
    __tsan_read1_pc __tsan_read2_pc __tsan_read4_pc __tsan_read8_pc __tsan_read16_pc
    __tsan_write1_pc __tsan_write2_pc __tsan_write4_pc __tsan_write8_pc __tsan_write16_pc
    __tsan_unaligned_read1 __tsan_unaligned_read2 __tsan_unaligned_read4
    __tsan_unaligned_read8 __tsan_unaligned_read16
    __tsan_unaligned_write1 __tsan_unaligned_write2 __tsan_unaligned_write4
    __tsan_unaligned_write8 __tsan_unaligned_write16
    __tsan_read_write1 __tsan_read_write2 __tsan_read_write4 __tsan_read_write8 __tsan_read_write16
    __tsan_unaligned_read_write1 __tsan_unaligned_read_write2 __tsan_unaligned_read_write4
    __tsan_unaligned_read_write8 __tsan_unaligned_read_write16
    __tsan_volatile_read1 __tsan_volatile_read2 __tsan_volatile_read4
    __tsan_volatile_read8 __tsan_volatile_read16
    __tsan_volatile_write1 __tsan_volatile_write2 __tsan_volatile_write4
    __tsan_volatile_write8 __tsan_volatile_write16
    __tsan_unaligned_volatile_read1 __tsan_unaligned_volatile_read2 __tsan_unaligned_volatile_read4
    __tsan_unaligned_volatile_read8 __tsan_unaligned_volatile_read16
    __tsan_unaligned_volatile_write1 __tsan_unaligned_volatile_write2 __tsan_unaligned_volatile_write4
    __tsan_unaligned_volatile_write8 __tsan_unaligned_volatile_write16
    __tsan_vptr_read __tsan_vptr_update
    __tsan_read_range __tsan_write_range
    __tsan_ignore_thread_begin __tsan_ignore_thread_end
    __tsan_acquire __tsan_release
}

unsafe extern "C" {
    fn memcpy(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void;
    fn memmove(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void;
    fn memset(to: *mut c_void, byte: c_int, length: usize) -> *mut c_void;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memcpy(
    to: *mut c_void,
    from: *const c_void,
    length: usize,
) -> *mut c_void {
    memcpy(to, from, length)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memmove(
    to: *mut c_void,
    from: *const c_void,
    length: usize,
) -> *mut c_void {
    memmove(to, from, length)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memset(to: *mut c_void, byte: c_int, length: usize) -> *mut c_void {
    memset(to, byte, length)
}
