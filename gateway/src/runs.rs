//! Numbers that prove which gateway begins a run.
//!
//! Two gateways may use the same name: by mistake, or because one is an attacker. A peer must
//! neither mix up the frames of both, nor leave the first one for the second one. But it must
//! follow at once a gateway that was killed and starts again.
//!
//! **The proof.** The numbers of the runs are a chain of hashes, used from its end to its beginning:
//! `run(n) = hash(run(n + 1))`. A peer that knows the number of one run can therefore check that
//! another run follows it. Only the gateway that knows the beginning of the chain can name the next
//! number. It keeps the beginning in a file, next to its other records. Each chain has one
//! purpose: the messages of one name, or the acknowledgements to one host for one name.
//!
//! **Not proved:** (1) A peer that knows no run of a name believes the first gateway that it hears. (2) A
//! number that was sent is no secret. On a network without certificates, a program that reads the
//! frames of a run can send frames of that same run.
//!
//! A gateway that has lost its file begins a new chain, which follows no other one. Its peers take it
//! up when they have not heard the earlier run for `lost-after-ms`.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use ring::digest::{Context, SHA256};
use ring::rand::{SecureRandom, SystemRandom};

/// The length of a chain. The next one begins without a proof. Simulations begin many chains, so theirs are short.
const LENGTH: u64 = if cfg!(feature = "sim") {
    1 << 8
} else {
    1 << 14
};
/// The most runs that may lie between two that a peer knows.
const APART: usize = 64;

fn hash(number: u128) -> u128 {
    let mut context = Context::new(&SHA256);
    context.update(b"blitz-gateway run");
    context.update(&number.to_le_bytes());
    let digest = context.finish();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.as_ref()[..16]);
    // 0 stands for no run.
    u128::from_le_bytes(bytes).max(1)
}

/// Returns `true` if `later` is the number of a run after the run `earlier` of the same gateway.
pub fn follows(earlier: u128, later: u128) -> bool {
    let mut number = later;
    (0..APART).any(|_| {
        number = hash(number);
        number == earlier
    })
}

/// A chain, and the number of its used numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chain {
    beginning: u128,
    used: u64,
}

impl Chain {
    /// Creates a chain that only this process knows.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn new() -> io::Result<Self> {
        let mut bytes = [0; 16];
        SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| io::Error::other("the system gives no random numbers"))?;
        Ok(Self {
            beginning: u128::from_le_bytes(bytes),
            used: 0,
        })
    }

    /// Returns the number of the first run of a new chain.
    fn first(&mut self) -> io::Result<u128> {
        self.next_run()
            .ok_or_else(|| io::Error::other("a chain without a run"))
    }

    /// Returns the number of the next run, or `None` at the end of the chain.
    pub fn next_run(&mut self) -> Option<u128> {
        let left = LENGTH.checked_sub(self.used.checked_add(1)?)?;
        self.used += 1;
        Some((0..=left).fold(self.beginning, |number, _| hash(number)))
    }
}

const LEN: usize = 32;
const SUM: usize = LEN - 8;

fn load(bytes: &[u8; LEN]) -> Option<Chain> {
    let (beginning, rest) = bytes.split_first_chunk()?;
    let (used, sum) = rest.split_first_chunk()?;
    let is_whole = *sum == crate::wire::fnv(&bytes[..SUM]).to_le_bytes();
    is_whole.then_some(Chain {
        beginning: u128::from_le_bytes(*beginning),
        used: u64::from_le_bytes(*used),
    })
}

/// Returns the number of a new run: the next one of the chain in the file at `path`. Makes the file if
/// it does not exist or is damaged. If the file cannot be written, the number belongs to no chain, so
/// that none is used twice.
///
/// # Errors
///
/// If the system has no random numbers.
pub fn begin(path: &Path) -> io::Result<u128> {
    advance(path).or_else(|_| Chain::new()?.first())
}

fn advance(path: &Path) -> io::Result<u128> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)?;
    let mut bytes = [0; LEN];
    let known = match file.read_exact_at(&mut bytes, 0) {
        Ok(()) => load(&bytes),
        Err(_) => None,
    };
    let next = known.and_then(|mut chain| Some((chain.next_run()?, chain)));
    let (run, chain) = match next {
        Some(next) => next,
        None => {
            let mut chain = Chain::new()?;
            (chain.first()?, chain)
        }
    };
    bytes[..16].copy_from_slice(&chain.beginning.to_le_bytes());
    bytes[16..SUM].copy_from_slice(&chain.used.to_le_bytes());
    let sum = crate::wire::fnv(&bytes[..SUM]);
    bytes[SUM..].copy_from_slice(&sum.to_le_bytes());
    file.write_all_at(&bytes, 0)?;
    Ok(run)
}
