//! The rights of selections as a table: state × event → state.
//!
//! A selection is chosen before it names its value or the place to receive it. In between it has a
//! right, which it uses or gives back. Three counts say how many rights there are:
//!
//! * `reserved`: rights to receive. So many of the values, here or to come, are set aside.
//! * `promised`: rights to send for which a place, or a receiver that waits for itself, is set
//!   aside.
//! * `paired`: rights to send for which another selection has the right to receive.
//!
//! Each row is a method of [`Rights`], and there is no other change:
//!
//! | row | event | `reserved` | `promised` | `paired` |
//! |---|---|---|---|---|
//! | R1 | [`reserve`](Rights::reserve): a selection may receive | + 1 | | |
//! | R2 | [`promise`](Rights::promise): a selection may send to a place or to a receiver | | + 1 | |
//! | R3 | [`pair`](Rights::pair): a selection may send to one that may receive (R1) | | | + 1 |
//! | R4 | [`give_back`](Rights::give_back) of a right of R1, used or not | − 1 | | |
//! | R5 | `give_back` of a right of R2, used or not | | − 1 | |
//! | R6 | `give_back` of a right of R3, used or not | | | − 1 |
//!
//! A thread that used a right of R3 put its value into the buffer. So while there is no value,
//! `paired < reserved` means that a promised value was withdrawn: one of the rights to receive gets
//! none.

use super::super::request::Outcome;

#[repr(C)]
pub(super) struct Rights {
    reserved: usize,
    promised: usize,
    paired: usize,
}

impl Rights {
    pub(super) const NONE: Self = Self {
        reserved: 0,
        promised: 0,
        paired: 0,
    };

    /// Row R1.
    pub(super) fn reserve(&mut self) {
        self.reserved += 1;
    }

    /// Row R2.
    pub(super) fn promise(&mut self) {
        self.promised += 1;
    }

    /// Row R3.
    pub(super) fn pair(&mut self) {
        self.paired += 1;
    }

    /// Rows R4 to R6. Returns `false` if this outcome is no right.
    pub(super) fn give_back(&mut self, right: Outcome) -> bool {
        match right {
            Outcome::Reserved => self.reserved -= 1,
            Outcome::Slot => self.promised -= 1,
            Outcome::Paired => self.paired -= 1,
            Outcome::Closed | Outcome::Ready => return false,
        }
        true
    }

    /// Returns the number of places, or of receivers that wait for themselves, that are set aside.
    pub(super) fn promised(&self) -> usize {
        self.promised
    }

    /// Returns `true` if values or places are set aside.
    pub(super) fn set_aside(&self) -> bool {
        self.reserved | self.promised != 0
    }

    /// Returns `true` if one of `values` is not set aside.
    #[inline]
    pub(super) fn leave_one_of(&self, values: usize) -> bool {
        values > self.reserved
    }

    /// Returns `true` if one of `capacity` places has neither one of the `values` nor is set aside.
    #[inline]
    pub(super) fn leave_room(&self, values: usize, capacity: usize) -> bool {
        values + self.promised < capacity
    }

    /// Returns `true` if, while there is no value, fewer will come than are reserved.
    pub(super) fn one_was_withdrawn(&self) -> bool {
        self.paired < self.reserved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_changes_the_counts_as_the_table_says() {
        let mut rights = Rights::NONE;
        let counts = |rights: &Rights| [rights.reserved, rights.promised, rights.paired];
        rights.reserve();
        assert_eq!(counts(&rights), [1, 0, 0]);
        assert!(rights.one_was_withdrawn());
        rights.pair();
        assert_eq!(counts(&rights), [1, 0, 1]);
        assert!(!rights.one_was_withdrawn());
        rights.promise();
        assert_eq!(counts(&rights), [1, 1, 1]);
        for (right, after) in [
            (Outcome::Closed, [1, 1, 1]),
            (Outcome::Ready, [1, 1, 1]),
            (Outcome::Slot, [1, 0, 1]),
            (Outcome::Paired, [1, 0, 0]),
            (Outcome::Reserved, [0, 0, 0]),
        ] {
            let is_right = counts(&rights) != after;
            assert_eq!(rights.give_back(right), is_right);
            assert_eq!(counts(&rights), after);
        }
    }

    #[test]
    fn what_is_set_aside_is_left() {
        let mut rights = Rights::NONE;
        assert!(!rights.set_aside() && !rights.leave_one_of(0) && rights.leave_one_of(1));
        assert!(rights.leave_room(1, 2) && !rights.leave_room(2, 2));
        rights.reserve();
        assert!(rights.set_aside() && !rights.leave_one_of(1) && rights.leave_one_of(2));
        rights.promise();
        assert_eq!(rights.promised(), 1);
        assert!(rights.leave_room(0, 2) && !rights.leave_room(1, 2));
    }
}
