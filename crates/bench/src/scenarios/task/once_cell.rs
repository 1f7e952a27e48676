//! Cells that are set once: reading a set one, and setting a fresh one.

use std::hint::black_box;
use std::sync::OnceLock;

use crossbeam_utils::CachePadded;

use crate::scenario::{Context, Measured, OURS, Sample, Scenario, verify};
use crate::scenarios::Body;
use crate::settings::SYNC_OPS;
use crate::threads::solo;

/// A cell for a number.
trait Cell {
    fn new() -> Self;
    fn get(&self) -> Option<u64>;
    /// Sets the cell. Returns whether it was fresh.
    fn set(&self, value: u64) -> bool;
}

/// Makes the contenders: a name, a type, and the name of its `set`.
macro_rules! peers {
    ($($name:expr, $cell:ty, $set:ident;)+) => {
        $(impl Cell for $cell {
            fn new() -> Self {
                Self::new()
            }
            #[inline]
            fn get(&self) -> Option<u64> {
                self.get().copied()
            }
            #[inline]
            fn set(&self, value: u64) -> bool {
                self.$set(value).is_ok()
            }
        })+

        type Table = [(&'static str, Body); [$($name),+].len()];
        const GET: Table = [$(($name, get::<$cell>)),+];
        const SET: Table = [$(($name, set::<$cell>)),+];
    };
}

peers! {
    OURS, blitz_io_sync::task::OnceCell<u64>, set;
    "tokio", tokio::sync::OnceCell<u64>, set;
    "async-lock", async_lock::OnceCell<u64>, try_set;
    "std", OnceLock<u64>, set;
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let get = Scenario::new(1, "once_cell_get", "OnceCell get, set cell", SYNC_OPS);
    let set = Scenario::new(1, "once_cell_set", "OnceCell set, fresh cell", SYNC_OPS);
    vec![get.with_all(GET), set.with_all(SET)]
}

/// The value in the cell that is read.
const VALUE: u64 = 3;

/// Reads in one turn of the loop. A read takes less than a nanosecond. With one read a
/// turn, `black_box` and the address that the linker gave the loop would decide which
/// contender wins.
const READS: u64 = 10;

fn get<C: Cell>(cx: &Context) -> Measured {
    let turns = (cx.ops / READS).max(1);
    let ops = turns * READS;
    let cell = CachePadded::new(C::new());
    verify("that the cell was fresh", true, cell.set(VALUE))?;
    let (span, sum) = solo(|| {
        let mut sum = 0u64;
        for _ in 0..turns {
            let cell: &C = black_box(&cell);
            for _ in 0..READS {
                // Not `unwrap_or`: its jump would cost more than the read.
                sum += cell.get().expect("the cell was set");
            }
        }
        sum
    });
    verify("the sum of what was read", ops * VALUE, sum)?;
    Ok(Sample::new(span, ops))
}

/// Creating and dropping the cell is part of the operation: a cell is set only once.
fn set<C: Cell>(cx: &Context) -> Measured {
    let (span, sum) = solo(|| {
        let mut sum = 0u64;
        for i in 0..cx.ops {
            let cell = C::new();
            // The cell must be in memory, as if another thread could see it.
            let seen: &C = black_box(&cell);
            seen.set(i);
            sum += black_box(seen).get().unwrap_or(0);
        }
        sum
    });
    verify("the sum of what was set", cx.ops * (cx.ops - 1) / 2, sum)?;
    Ok(Sample::new(span, cx.ops))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::tests::{assert_caught, context};

    /// A cell that keeps nothing.
    struct Sieve;

    impl Cell for Sieve {
        fn new() -> Self {
            Sieve
        }
        fn get(&self) -> Option<u64> {
            None
        }
        fn set(&self, _value: u64) -> bool {
            true
        }
    }

    #[test]
    fn a_sieve_is_caught() {
        assert_caught(set::<Sieve>(&context()), "the sum");
    }

    #[test]
    #[should_panic(expected = "the cell was set")]
    fn a_sieve_that_is_read_is_caught() {
        let _ = get::<Sieve>(&context());
    }
}
