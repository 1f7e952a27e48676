//! Numbers of the futures of other runtimes.
//!
//! Such a future has no number. But each wake-up of its task goes through its waker, so the address in the waker identifies
//! the task as long as it lives. Only a new waker with the address of an old one makes two futures one.

/// Set in the number of a future. Numbers of tasks are smaller, those of children and roots have other bits, and JSON keeps it.
const FUTURE: u64 = 1 << 45;
/// The bits of the hash of an address.
const HASH: u32 = 44;

/// Returns the number that the future with this address in its waker has among tasks.
#[must_use]
pub const fn number_of_future(address: u64) -> u64 {
    // The high bits of the product depend on all bits of the address.
    FUTURE | address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - HASH)
}

/// Returns `true` for the number of a future of another runtime.
#[must_use]
pub const fn is_future(number: u64) -> bool {
    number < FUTURE << 1 && number & FUTURE != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{id_of_child, number_of_child};

    #[test]
    fn numbers_of_futures_are_no_other_ones() {
        for address in [1, 0x7f00_1234_5670, u64::MAX] {
            let number = number_of_future(address);
            assert!(is_future(number), "{number:#x}");
            assert_eq!(id_of_child(number), None, "{number:#x}");
            assert_ne!(number, number_of_future(address ^ 16));
        }
        for number in [1, number_of_child(7), (1 << 52) + 1] {
            assert!(!is_future(number), "{number:#x}");
        }
    }
}
