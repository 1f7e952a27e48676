//! Chapter 3: a request that computes, on all processors and off the runtime's workers.

use blitz_io::pool;

// ANCHOR: primes
/// Counts the primes below `limit` on all processors.
async fn primes(limit: usize) -> u64 {
    pool::run(move || pool::map_reduce(0..limit, 64, |n| u64::from(is_prime(n)), |a, b| a + b))
        .await
        .unwrap_or(0) // no number is below 0
}

fn is_prime(number: usize) -> bool {
    number >= 2
        && (2..)
            .take_while(|d| d * d <= number)
            .all(|d| number % d != 0)
}
// ANCHOR_END: primes

#[blitz_io::main]
async fn main() {
    // Both run at the same time, and other tasks go on.
    let (small, large) = blitz_io::join!(primes(1000), primes(200_000));
    assert_eq!((small, large), (168, 17_984));
    println!("{small} {large}");
}
