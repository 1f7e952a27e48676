//! Trimming of adapters from reads and pairs, which is noted for the reports.

use crate::adapter;
use crate::noted::{Adapters, Of};
use crate::options::Options;
use crate::overlap::Overlap;
use crate::record::Read4;

/// Returns the adapter of a read, if it is known.
fn sequence(adapter: &str) -> Option<&[u8]> {
    (!adapter.is_empty() && adapter != "auto").then_some(adapter.as_bytes())
}

/// Whether adapter trimming has left so little that a read may be an adapter dimer.
pub fn is_short(options: &Options, read: &Read4<'_>) -> bool {
    read.len() as i64 <= options.dimer_max_len
}

/// Trims one adapter and notes it. Returns whether the read has it.
fn one(read: &mut Read4<'_>, adapter: &[u8], required: i64, of: Of, noted: &mut Adapters) -> bool {
    let seq = read.seq;
    let Some(at) = adapter::trim(read, adapter, required) else {
        return false;
    };
    let bases = if at < 0 {
        adapter::before(adapter, at)
    } else {
        &seq[at as usize..]
    };
    if !bases.is_empty() {
        noted.push(of, bases);
    }
    true
}

/// Trims the adapter of a read, if it is known. Returns whether the read has it.
pub fn known(read: &mut Read4<'_>, adapter: &str, of: Of, noted: &mut Adapters) -> bool {
    sequence(adapter).is_some_and(|adapter| one(read, adapter, adapter::REQUIRED, of, noted))
}

/// Trims the adapters of the FASTA file. The read is counted unless it was already
/// `trimmed`.
pub fn all(
    options: &Options,
    read: &mut Read4<'_>,
    of: Of,
    trimmed: &mut bool,
    noted: &mut Adapters,
) {
    let required = adapter::required_of(options.fasta.len());
    for adapter in &options.fasta {
        let of = if *trimmed { of.again() } else { of };
        *trimmed |= one(read, adapter, required, of, noted);
    }
}

/// Trims the adapters of a pair, by its overlap or else by their sequences. Returns whether
/// a read had one.
pub fn pair(
    options: &Options,
    reads: &mut [Read4<'_>; 2],
    found: Option<Overlap>,
    fronts: [usize; 2],
    noted: &mut Adapters,
) -> bool {
    let mut trimmed = [false; 2];
    match found {
        Some(found) if found.offset < 0 => {
            let kept = [found.len + fronts[1], found.len + fronts[0]];
            for (which, read) in reads.iter_mut().enumerate() {
                let len = read.len().min(kept[which]);
                noted.push(
                    if which == 0 { Of::Pair } else { Of::Read2 },
                    &read.seq[len..],
                );
                read.truncate(len);
            }
            trimmed = [true; 2];
        }
        _ => {
            trimmed[0] = known(&mut reads[0], &options.adapter1, Of::Read1, noted);
            trimmed[1] = known(&mut reads[1], &options.adapter2, Of::Read2, noted);
        }
    }
    for ((read, of), trimmed) in reads
        .iter_mut()
        .zip([Of::Read1, Of::Read2])
        .zip(&mut trimmed)
    {
        all(options, read, of, trimmed, noted);
    }
    trimmed.contains(&true)
}
