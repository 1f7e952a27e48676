//! Copies of bytes that another participant may read or overwrite at the same time.
//!
//! A plain access that races with another one is undefined behaviour, even if its result is
//! thrown away. So these copies go word by word, with relaxed atomic accesses. The result is
//! any mixture of the bytes before and after; the caller finds out whether it is whole.
//! Both directions use the same words, as a race between accesses of different sizes is
//! undefined, too: the last word is a whole one, of which the message may use a part.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Shared bytes begin at a multiple of this, and there is room for whole words.
pub(super) const WORD: usize = size_of::<u64>();

/// Copies `bytes` to `target`.
///
/// # Safety
///
/// `target` is a multiple of [`WORD`]. The words that hold `bytes.len()` bytes from there
/// exist, may be written, and are accessed atomically only, by whole words, until this
/// returns.
pub(super) unsafe fn write(target: NonNull<u8>, bytes: &[u8]) {
    let words = bytes.chunks_exact(WORD);
    let rest = words.remainder();
    let mut last = [0; WORD];
    last[..rest.len()].copy_from_slice(rest);
    let last = (!rest.is_empty()).then_some(&last[..]);
    for (index, word) in words.chain(last).enumerate() {
        let word = word.first_chunk().expect("a whole word");
        // SAFETY: one of the words that exist by this function's contract.
        unsafe { at(target, index) }.store(u64::from_ne_bytes(*word), Ordering::Relaxed);
    }
}

/// Copies the bytes from `source` on to `target`.
///
/// # Safety
///
/// `source` is a multiple of [`WORD`]. The words that hold `target.len()` bytes from there
/// exist, and are written atomically only, by whole words, until this returns.
pub(super) unsafe fn read(source: NonNull<u8>, target: &mut [u8]) {
    for (index, part) in target.chunks_mut(WORD).enumerate() {
        // SAFETY: one of the words that exist by this function's contract.
        let word = unsafe { at(source, index) }.load(Ordering::Relaxed);
        part.copy_from_slice(&word.to_ne_bytes()[..part.len()]);
    }
}

/// # Safety
///
/// `base` is a multiple of [`WORD`], and the word at `index` from there exists. While the
/// result is used, it is accessed atomically only.
unsafe fn at<'a>(base: NonNull<u8>, index: usize) -> &'a AtomicU64 {
    // SAFETY: the caller's promise; an `AtomicU64` is a word.
    unsafe { base.cast::<AtomicU64>().add(index).as_ref() }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Shared bytes.
    struct Shared([AtomicU64; 4]);

    impl Shared {
        fn new() -> Self {
            Self([const { AtomicU64::new(0) }; 4])
        }

        fn base(&self) -> NonNull<u8> {
            NonNull::from(&self.0).cast()
        }

        fn write(&self, bytes: &[u8]) {
            assert!(bytes.len() <= size_of_val(&self.0));
            // SAFETY: these words, which are atomics.
            unsafe { write(self.base(), bytes) };
        }

        fn read(&self, len: usize) -> Vec<u8> {
            assert!(len <= size_of_val(&self.0));
            let mut bytes = vec![0xff; len];
            // SAFETY: the words are those of `self`, which are atomics and outlive the
            // call.
            unsafe { read(self.base(), &mut bytes) };
            bytes
        }
    }

    #[test]
    fn every_length_is_copied() {
        let bytes: Vec<u8> = (1..=32).collect();
        for len in 0..=bytes.len() {
            let shared = Shared::new();
            shared.write(&bytes[..len]);
            assert_eq!(shared.read(len), &bytes[..len]);
            // A short read of a long message, and the reverse.
            assert_eq!(shared.read(len / 2), &bytes[..len / 2]);
            assert!(shared.read(32)[len..].iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn a_read_beside_writes_finds_bytes_of_either() {
        const ROUNDS: usize = if cfg!(miri) { 20 } else { 20_000 };
        let shared = Shared::new();
        shared.write(&[1; 27]);
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    shared.write(&[1; 27]);
                    shared.write(&[2; 30]);
                }
            });
            for _ in 0..ROUNDS {
                let seen = shared.read(25);
                assert!(seen.iter().all(|byte| [1, 2].contains(byte)), "{seen:?}");
            }
        });
    }
}
