//! Atomic operations on 16 bytes. std has no such type; the processor has `cmpxchg16b`. (The compiler's own function for
//! the instruction may become a call of another library.)

use core::arch::asm;
use core::sync::atomic::Ordering;

/// The interface is that of std's types, as far as it is needed. Programs with operations of this size were compiled for
/// a processor with the instruction.
pub struct AtomicU128(*mut u128);

impl AtomicU128 {
    /// Names a value of 16 bytes that is aligned to as many.
    pub unsafe fn from_ptr(at: *mut u128) -> AtomicU128 {
        AtomicU128(at)
    }

    pub unsafe fn compare_exchange(
        &self,
        expected: u128,
        value: u128,
        _: Ordering,
        _: Ordering,
    ) -> Result<u128, u128> {
        let before = compare_exchange(self.0, expected, value);
        if before == expected {
            Ok(before)
        } else {
            Err(before)
        }
    }

    pub unsafe fn load(&self, order: Ordering) -> u128 {
        // Writes what is there.
        match self.compare_exchange(0, 0, order, order) {
            Ok(value) | Err(value) => value,
        }
    }

    /// Replaces the value by what `change` makes of it. Returns the value before.
    unsafe fn update(&self, order: Ordering, change: impl Fn(u128) -> u128) -> u128 {
        let mut before = self.load(order);
        loop {
            match self.compare_exchange(before, change(before), order, order) {
                Ok(_) => return before,
                Err(now) => before = now,
            }
        }
    }

    pub unsafe fn swap(&self, value: u128, order: Ordering) -> u128 {
        self.update(order, |_| value)
    }

    pub unsafe fn fetch_add(&self, value: u128, order: Ordering) -> u128 {
        self.update(order, |before| before.wrapping_add(value))
    }

    pub unsafe fn fetch_sub(&self, value: u128, order: Ordering) -> u128 {
        self.update(order, |before| before.wrapping_sub(value))
    }

    pub unsafe fn fetch_and(&self, value: u128, order: Ordering) -> u128 {
        self.update(order, |before| before & value)
    }

    pub unsafe fn fetch_or(&self, value: u128, order: Ordering) -> u128 {
        self.update(order, |before| before | value)
    }

    pub unsafe fn fetch_xor(&self, value: u128, order: Ordering) -> u128 {
        self.update(order, |before| before ^ value)
    }

    pub unsafe fn fetch_nand(&self, value: u128, order: Ordering) -> u128 {
        self.update(order, |before| !(before & value))
    }
}

/// Returns the value before.
unsafe fn compare_exchange(at: *mut u128, expected: u128, value: u128) -> u128 {
    let (mut low, mut high) = (expected as u64, (expected >> 64) as u64);
    // RBX, which has the lower half of the value, belongs to the compiler.
    asm!(
        "xchg rbx, rsi",
        "lock cmpxchg16b [rdi]",
        "mov rbx, rsi",
        in("rdi") at,
        inout("rsi") value as u64 => _,
        in("rcx") (value >> 64) as u64,
        inout("rax") low,
        inout("rdx") high,
        options(nostack),
    );
    u128::from(high) << 64 | u128::from(low)
}
