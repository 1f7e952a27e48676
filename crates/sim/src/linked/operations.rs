//! The atomic operations.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

use crate::wide::AtomicU128;
use crate::{count, point};

/// Memory order: the compiler's number, which has no meaning here.
type Order = c_int;

const ORDER: Ordering = Ordering::SeqCst;

/// The operations that return the value before, of one size: `symbol = method`.
macro_rules! operations {
    ($value:ty, $atomic:ty: $($symbol:ident = $method:ident, $name:literal;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $symbol(at: *mut $value, value: $value, _: Order) -> $value {
            point($name, at as usize);
            let atomic = <$atomic>::from_ptr(at);
            let before = atomic.$method(value, ORDER);
            // Nothing else has happened between, in a simulation.
            count(atomic.load(ORDER) != before);
            before
        }
    )*};
}

/// All operations of one size.
macro_rules! size {
    (
        $value:ty, $atomic:ty, $load:ident, $store:ident, $exchange:ident,
        $add:ident, $sub:ident, $and:ident, $or:ident, $xor:ident, $nand:ident,
        $strong:ident, $weak:ident, $compare:ident
    ) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $load(at: *const $value, _: Order) -> $value {
            point("atomic load", at as usize);
            <$atomic>::from_ptr(at.cast_mut()).load(ORDER)
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $store(at: *mut $value, value: $value, _: Order) {
            point("atomic store", at as usize);
            count(<$atomic>::from_ptr(at).swap(value, ORDER) != value);
        }

        operations! { $value, $atomic:
            $exchange = swap, "atomic exchange";
            $add = fetch_add, "atomic add";
            $sub = fetch_sub, "atomic subtract";
            $and = fetch_and, "atomic and";
            $or = fetch_or, "atomic or";
            $xor = fetch_xor, "atomic xor";
            $nand = fetch_nand, "atomic nand";
        }

        /// Returns the value before.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $compare(
            at: *mut $value,
            expected: $value,
            value: $value,
            _: Order,
            _: Order,
        ) -> $value {
            point("atomic compare-exchange", at as usize);
            match <$atomic>::from_ptr(at).compare_exchange(expected, value, ORDER, ORDER) {
                Ok(before) => {
                    count(before != value);
                    before
                }
                Err(before) => before,
            }
        }

        /// Returns 1 if the value was the expected one, and otherwise writes it there.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $strong(
            at: *mut $value,
            expected: *mut $value,
            value: $value,
            success: Order,
            failure: Order,
        ) -> c_int {
            let wanted = *expected;
            *expected = $compare(at, wanted, value, success, failure);
            c_int::from(*expected == wanted)
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $weak(
            at: *mut $value,
            expected: *mut $value,
            value: $value,
            success: Order,
            failure: Order,
        ) -> c_int {
            $strong(at, expected, value, success, failure)
        }
    };
}

size! {
    u8, AtomicU8, __tsan_atomic8_load, __tsan_atomic8_store, __tsan_atomic8_exchange,
    __tsan_atomic8_fetch_add, __tsan_atomic8_fetch_sub, __tsan_atomic8_fetch_and,
    __tsan_atomic8_fetch_or, __tsan_atomic8_fetch_xor, __tsan_atomic8_fetch_nand,
    __tsan_atomic8_compare_exchange_strong, __tsan_atomic8_compare_exchange_weak,
    __tsan_atomic8_compare_exchange_val
}
size! {
    u16, AtomicU16, __tsan_atomic16_load, __tsan_atomic16_store, __tsan_atomic16_exchange,
    __tsan_atomic16_fetch_add, __tsan_atomic16_fetch_sub, __tsan_atomic16_fetch_and,
    __tsan_atomic16_fetch_or, __tsan_atomic16_fetch_xor, __tsan_atomic16_fetch_nand,
    __tsan_atomic16_compare_exchange_strong, __tsan_atomic16_compare_exchange_weak,
    __tsan_atomic16_compare_exchange_val
}
size! {
    u32, AtomicU32, __tsan_atomic32_load, __tsan_atomic32_store, __tsan_atomic32_exchange,
    __tsan_atomic32_fetch_add, __tsan_atomic32_fetch_sub, __tsan_atomic32_fetch_and,
    __tsan_atomic32_fetch_or, __tsan_atomic32_fetch_xor, __tsan_atomic32_fetch_nand,
    __tsan_atomic32_compare_exchange_strong, __tsan_atomic32_compare_exchange_weak,
    __tsan_atomic32_compare_exchange_val
}
size! {
    u64, AtomicU64, __tsan_atomic64_load, __tsan_atomic64_store, __tsan_atomic64_exchange,
    __tsan_atomic64_fetch_add, __tsan_atomic64_fetch_sub, __tsan_atomic64_fetch_and,
    __tsan_atomic64_fetch_or, __tsan_atomic64_fetch_xor, __tsan_atomic64_fetch_nand,
    __tsan_atomic64_compare_exchange_strong, __tsan_atomic64_compare_exchange_weak,
    __tsan_atomic64_compare_exchange_val
}
size! {
    u128, AtomicU128, __tsan_atomic128_load, __tsan_atomic128_store, __tsan_atomic128_exchange,
    __tsan_atomic128_fetch_add, __tsan_atomic128_fetch_sub, __tsan_atomic128_fetch_and,
    __tsan_atomic128_fetch_or, __tsan_atomic128_fetch_xor, __tsan_atomic128_fetch_nand,
    __tsan_atomic128_compare_exchange_strong, __tsan_atomic128_compare_exchange_weak,
    __tsan_atomic128_compare_exchange_val
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_thread_fence(_: Order) {
    fence(ORDER);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_: Order) {
    fence(ORDER);
}
