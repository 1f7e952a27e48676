//! Cells that are set once: reading a set one, and setting a fresh one.

use std::sync::OnceLock;

use crate::scenarios::prelude::*;

/// One contender's bodies, which get and set: a type, and the name of its `set`.
macro_rules! bodies {
    ($cell:ty, $set:ident) => {{
        let bodies: [Body; 2] = [
            |cx| {
                get(
                    cx,
                    <$cell>::new(),
                    |c, n| c.$set(n).is_ok(),
                    |c| c.get().copied(),
                )
            },
            |cx| {
                set(
                    cx,
                    <$cell>::new,
                    |c, n| c.$set(n).is_ok(),
                    |c| c.get().copied(),
                )
            },
        ];
        bodies
    }};
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let peers = [
        (OURS, bodies!(blitz_io_sync::task::OnceCell<u64>, set)),
        ("tokio", bodies!(tokio::sync::OnceCell<u64>, set)),
        ("async-lock", bodies!(async_lock::OnceCell<u64>, try_set)),
        ("std", bodies!(OnceLock<u64>, set)),
    ];
    let get = Scenario::new(1, "once_cell_get", "OnceCell get, set cell", SYNC_OPS);
    let set = Scenario::new(1, "once_cell_set", "OnceCell set, fresh cell", SYNC_OPS);
    vec![
        get.with_all(peers.map(|(name, [get, _])| (name, get))),
        set.with_all(peers.map(|(name, [_, set])| (name, set))),
    ]
}

/// The value in the cell that is read.
const VALUE: u64 = 3;

/// Reads in one turn of the loop. A read takes less than a nanosecond. With one read a
/// turn, `black_box` and the address that the linker gave the loop would decide which
/// contender wins.
const READS: u64 = 10;

fn get<C>(
    cx: &Context,
    cell: C,
    set: impl Fn(&C, u64) -> bool,
    get: impl Fn(&C) -> Option<u64>,
) -> Measured {
    let turns = (cx.ops / READS).max(1);
    let ops = turns * READS;
    let cell = CachePadded::new(cell);
    verify("that the cell was fresh", true, set(&cell, VALUE))?;
    let (span, sum) = solo(|| {
        let mut sum = 0u64;
        for _ in 0..turns {
            let cell: &C = black_box(&cell);
            for _ in 0..READS {
                // Not `unwrap_or`: its jump would cost more than the read.
                sum += get(cell).expect("the cell was set");
            }
        }
        sum
    });
    verify("the sum of what was read", ops * VALUE, sum)?;
    Ok(Sample::new(span, ops))
}

/// Creating and dropping the cell is part of the operation: a cell is set only once.
fn set<C>(
    cx: &Context,
    new: impl Fn() -> C,
    set: impl Fn(&C, u64) -> bool,
    get: impl Fn(&C) -> Option<u64>,
) -> Measured {
    let (span, sum) = solo(|| {
        let mut sum = 0u64;
        for i in 0..cx.ops {
            let cell = new();
            // The cell must be in memory, as if another thread could see it.
            let seen: &C = black_box(&cell);
            set(seen, i);
            sum += get(black_box(seen)).unwrap_or(0);
        }
        sum
    });
    verify("the sum of what was set", cx.ops * (cx.ops - 1) / 2, sum)?;
    Ok(Sample::new(span, cx.ops))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_keeps_nothing_is_caught() {
        let measured = set(&context(), || (), |(), _| true, |()| None);
        assert_caught(measured, "the sum");
    }

    #[test]
    #[should_panic(expected = "the cell was set")]
    fn a_cell_that_keeps_nothing_and_is_read_is_caught() {
        let _ = get(&context(), (), |(), _| true, |()| None);
    }
}
