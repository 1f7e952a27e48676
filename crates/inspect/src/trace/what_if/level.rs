//! `Level`: how much of a resource was in use at each moment of a recording.

/// The use of one resource.
#[derive(Clone, Debug, Default)]
pub(super) struct Level {
    /// Moments and the change at each, in any order until [`Level::settle`].
    changes: Vec<(u64, i64)>,
    /// Periods in which no more could be had, in the order of time.
    full: Vec<(u64, u64)>,
    most: u64,
}

impl Level {
    /// Notes that this much was taken, or given back if it is negative.
    pub(super) fn note(&mut self, at: u64, change: i64) {
        self.changes.push((at, change));
    }

    /// Puts the changes in order. `capacity`: that of the resource; by default the most that was in use.
    pub(super) fn settle(&mut self, capacity: Option<u64>) {
        // A part that is returned can be taken at the same moment.
        self.changes.sort_unstable();
        let mut level: i64 = 0;
        let levels = self.changes.iter().map(|&(at, change)| {
            level = level.saturating_add(change).max(0);
            (at, level as u64)
        });
        let levels: Vec<_> = levels.collect();
        self.most = levels.iter().map(|&(_, level)| level).max().unwrap_or(0);
        let capacity = capacity.unwrap_or(self.most);
        let mut since = None;
        for (at, level) in levels {
            match since {
                None if level >= capacity => since = Some(at),
                Some(from) if level < capacity => {
                    self.full.push((from, at));
                    since = None;
                }
                _ => {}
            }
        }
        self.full.extend(since.map(|from| (from, u64::MAX)));
        self.changes = Vec::new();
    }

    /// Returns the most that was in use at the same time.
    pub(super) fn most(&self) -> u64 {
        self.most
    }

    /// Returns the time before `to` in which some was to be had, but not before `from`.
    pub(super) fn free_before(&self, from: u64, to: u64) -> u64 {
        let after = self.full.partition_point(|&(begin, _)| begin < to);
        let last = after.checked_sub(1).map_or(0, |last| self.full[last].1);
        to - last.clamp(from.min(to), to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_since_all_was_in_use() {
        let mut level = Level::default();
        for (at, change) in [(0, 1), (5, 1), (10, -1), (10, 1), (20, -1), (30, 1)] {
            level.note(at, change);
        }
        level.settle(None);
        assert_eq!(level.most(), 2);
        // Full from 5 to 20, but for no time at 10, and from 30 on.
        assert_eq!(level.free_before(6, 15), 0);
        assert_eq!(level.free_before(6, 24), 4);
        assert_eq!(level.free_before(22, 24), 2);
        assert_eq!(level.free_before(0, 4), 4);
        assert_eq!(level.free_before(25, 40), 0);
    }

    #[test]
    fn more_than_was_in_use_is_never_full() {
        let mut level = Level::default();
        level.note(1, 3);
        level.note(4, -9);
        level.settle(Some(4));
        assert_eq!((level.most(), level.free_before(0, 9)), (3, 9));
    }
}
