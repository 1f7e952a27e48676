//! `select!` draws from the runtime's seed.

use blitz_io::runtime::{Builder, RngSeed};

/// Which branches of a hundred selections were taken, in a runtime with this seed.
fn drawn(mut builder: Builder, seed: &[u8]) -> Vec<u32> {
    let runtime = builder.rng_seed(RngSeed::from_bytes(seed)).build().unwrap();
    let draw = async {
        let mut drawn = Vec::new();
        for _ in 0..100 {
            drawn.push(blitz_io::select! {
                n = async { 0 } => n,
                n = async { 1 } => n,
                n = async { 2 } => n,
                n = async { 3 } => n,
            });
        }
        drawn
    };
    runtime.block_on(draw)
}

fn one_seed_gives_one_order(builder: impl Fn() -> Builder) {
    let first = drawn(builder(), b"one");
    assert_eq!(first, drawn(builder(), b"one"));
    assert_ne!(first, drawn(builder(), b"another"));
    for branch in 0..4 {
        assert!(first.contains(&branch));
    }
}

#[test]
fn one_seed_gives_one_order_on_the_current_thread() {
    one_seed_gives_one_order(Builder::new_current_thread);
}

#[test]
fn one_seed_gives_one_order_beside_workers() {
    one_seed_gives_one_order(Builder::new_multi_thread);
}
