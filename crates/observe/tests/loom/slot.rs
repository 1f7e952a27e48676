//! Models of the slot of a record: its owner, and the reader.

use std::sync::Arc;

use blitz_io_observe::{Reader, Reading, Slot};
use loom::thread;

use crate::model::model;

struct Shared {
    slot: Slot<(u32, u32)>,
    /// The reader continues with this slot, which has no record.
    next: Slot<()>,
    reader: Reader,
}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            slot: Slot::new(),
            next: Slot::new(),
            reader: Reader::new(),
        })
    }

    fn read(&self) -> Option<u32> {
        self.read_in(&self.reader.begin())
    }

    fn read_in(&self, reading: &Reading<'_>) -> Option<u32> {
        reading.read(&self.slot, |&(one, two)| {
            assert_eq!(one, two);
            one
        })
    }

    fn read_and_go_on(&self) -> Option<u32> {
        let reading = self.reader.begin();
        let found = self.read_in(&reading);
        assert_eq!(reading.read(&self.next, |&()| ()), None);
        found
    }
}

#[test]
fn a_reader_sees_whole_records_only() {
    model(2, || {
        let shared = Shared::new();
        let reader = {
            let shared = shared.clone();
            thread::spawn(move || shared.read())
        };
        // SAFETY: this thread owns the slot, and alternates `set` and `clear`.
        unsafe {
            shared.slot.set((1, 1));
            assert_eq!(shared.slot.read_own(|value| value.0), Some(1));
            shared.slot.clear(&shared.reader);
            shared.slot.set((2, 2));
        }
        reader.join().unwrap();
        assert_eq!(shared.read(), Some(2));
    });
}

/// The owner ends a record that was set before the reader came.
fn an_owner_changes_a_record(read: fn(&Shared) -> Option<u32>) {
    model(2, move || {
        let shared = Shared::new();
        // SAFETY: this thread owns the slot, and alternates `set` and `clear`.
        unsafe { shared.slot.set((1, 1)) };
        let reader = {
            let shared = shared.clone();
            thread::spawn(move || read(&shared))
        };
        // SAFETY: this thread owns the slot, which is set.
        unsafe {
            shared.slot.clear(&shared.reader);
            shared.slot.set((2, 2));
        }
        reader.join().unwrap();
    });
}

#[test]
fn an_owner_changes_no_record_that_is_read() {
    an_owner_changes_a_record(Shared::read);
}

#[test]
fn an_owner_changes_no_record_that_is_read_before_another_one() {
    an_owner_changes_a_record(Shared::read_and_go_on);
}
