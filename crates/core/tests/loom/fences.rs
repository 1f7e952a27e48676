//! Models of the asymmetric fences, and of the switch to strong ones after a late barrier.

use std::sync::Arc;

use blitz_io_core::fences;
use blitz_io_core::fences::model::{with_late_barriers, with_late_stores};
use blitz_io_futex::atomic::{AtomicU8, Ordering};
use loom::thread;

const CHANGED: u8 = 1;

#[derive(Default)]
struct Word {
    change: AtomicU8,
    /// One bit for each thread that announces itself.
    announced: AtomicU8,
}

impl Word {
    /// The rare side. Returns whether it sees the change.
    fn announce(&self, bit: u8) -> bool {
        self.announced.fetch_or(bit, Ordering::SeqCst);
        fences::heavy();
        self.change.load(Ordering::SeqCst) == CHANGED
    }

    /// The frequent side. Returns the announcements that it sees.
    fn publish(&self) -> u8 {
        fences::publish(&self.change, CHANGED, &self.announced)
    }
}

/// Either side of each pair sees the other. With late barriers, one of the rare threads makes the
/// switch, and the other may find it at any stage.
fn one_publishes_and_others_announce(bits: &'static [u8]) -> impl Fn() + Sync + Send + 'static {
    move || {
        let word = Arc::new(Word::default());
        let threads: Vec<_> = (bits.iter())
            .map(|&bit| {
                let word = word.clone();
                thread::spawn(move || word.announce(bit))
            })
            .collect();
        let seen = word.publish();
        for (bit, thread) in bits.iter().zip(threads) {
            assert!(thread.join().unwrap() || seen & bit != 0, "both missed it");
        }
    }
}

#[test]
fn each_sees_the_other() {
    with_late_stores(|| loom::model(one_publishes_and_others_announce(&[1, 2])));
}

#[test]
fn each_sees_the_other_while_the_process_gives_up_light_fences() {
    with_late_barriers(|| loom::model(one_publishes_and_others_announce(&[1, 2])));
}
