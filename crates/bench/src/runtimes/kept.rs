//! Runtimes and pools, started once and kept for the whole process.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A type, the number of its workers, and a number that distinguishes values with as many workers.
type Key = (TypeId, usize, usize);

static KEPT: Mutex<BTreeMap<Key, &(dyn Any + Send + Sync)>> = Mutex::new(BTreeMap::new());

/// Returns the `which`th value of `K` with `workers` workers, made by `start` if it does not
/// exist yet.
pub(crate) fn kept<K: 'static, R: Copy + Send + Sync + 'static>(
    workers: usize,
    which: usize,
    start: fn(usize) -> R,
) -> R {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let place = kept.entry((TypeId::of::<K>(), workers, which));
    let place = *place.or_insert_with(|| Box::leak(Box::new(OnceLock::<R>::new())));
    // Starting one may start another.
    drop(kept);
    let place: Option<&OnceLock<R>> = place.downcast_ref();
    *(place.expect("a type keeps values of one type")).get_or_init(|| start(workers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_started_is_kept() {
        struct Test;
        assert_eq!(kept::<Test, i32>(2, 0, |workers| workers as i32 * 10), 20);
        assert_eq!(kept::<Test, i32>(2, 0, |_| panic!("it is there")), 20);
        assert_eq!(kept::<Test, i32>(2, 1, |_| 21), 21);
        assert_eq!(kept::<Test, i32>(3, 0, |_| 30), 30);
    }
}
