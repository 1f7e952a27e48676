//! Models of the slot of a record: its owner, and the reader.
#![cfg(loom)]

use std::sync::Arc;

use blitz_io_core::inspect::Slot;
use loom::thread;

use crate::model::model;

#[test]
fn a_reader_sees_whole_records_only() {
    model(2, || {
        let slot = Arc::new(Slot::<(u32, u32)>::new());
        let reader = {
            let slot = slot.clone();
            thread::spawn(move || {
                if let Some((one, two)) = slot.read(|&value| value) {
                    assert_eq!(one, two);
                }
            })
        };
        // SAFETY: this thread owns the slot, and sets and clears in turn.
        unsafe {
            slot.set((1, 1));
            assert_eq!(slot.read_own(|value| value.0), Some(1));
            slot.clear();
            slot.set((2, 2));
        }
        reader.join().unwrap();
        assert_eq!(slot.read(|value| value.0), Some(2));
    });
}
