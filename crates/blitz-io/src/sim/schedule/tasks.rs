//! Tables by the indexes of tasks, and by the numbers of objects, both of which count up.

use std::hash::Hasher;

/// A table of tasks. A task without an entry has the default one.
#[derive(Clone, Debug, Default)]
pub(super) struct Tasks<T>(Vec<T>);

impl<T: Copy + Default> Tasks<T> {
    #[inline]
    pub(super) fn get(&self, task: u32) -> T {
        self.0.get(task as usize).copied().unwrap_or_default()
    }

    /// Gives all tasks the default entry.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the entry of a task.
    #[inline]
    pub(super) fn entry(&mut self, task: u32) -> &mut T {
        let index = task as usize;
        if index >= self.0.len() {
            self.grow(index);
        }
        &mut self.0[index]
    }

    fn grow(&mut self, index: usize) {
        self.0.resize(index + 1, T::default());
    }
}

/// The hash of a number: a multiple of it by an odd constant, as its upper bits select the slot.
#[derive(Default)]
pub(super) struct OfNumber(u64);

impl Hasher for OfNumber {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_right(29);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_without_an_entry_has_the_default_one() {
        let mut tasks = Tasks::default();
        *tasks.entry(3) = 7;
        assert_eq!([0, 3, 9].map(|task| tasks.get(task)), [0, 7, 0]);
        *tasks.entry(0) += 1;
        assert_eq!([0, 3].map(|task| tasks.get(task)), [1, 7]);
        tasks.clear();
        assert_eq!([*tasks.entry(5), tasks.get(3)], [0, 0]);
    }
}
