//! Finds the known adapter of the reads.
//!
//! An adapter is at a place of a read if at least nine bases can be compared and at most
//! one of every sixteen differs. If the adapter is cut into words of eight bases, at least
//! one word occurs there without a difference. Of `n` bases at most `n / 16` differ, but
//! there are `n / 8` words. So only places at which a word occurs are compared.

/// Number of bases of a word.
const WORD: usize = 8;
const WORDS: usize = 1 << (2 * WORD);
/// An adapter must have more bases than this in a read.
const REQUIRED: usize = 8;
/// One base of this many may differ.
const BASES_A_MISMATCH: usize = 16;

/// Returns the known adapters in alphabetical order.
pub fn all() -> impl Iterator<Item = &'static [u8]> {
    include_str!("known_adapters.txt")
        .lines()
        .map(str::as_bytes)
}

/// Returns the known adapter that is in enough of the first reads.
pub fn find(reads: &[Box<[u8]>]) -> Option<String> {
    const MOST_READS: usize = 100_000;
    const MOST_BASES: usize = MOST_READS * 1000;
    const MOST_HITS: usize = 1000;
    const CERTAIN: usize = 20;
    let mut search = Search::new(all().collect());
    let mut hits = vec![(0usize, 0usize); search.adapters.len()];
    let (mut checked, mut bases, mut most) = (0, 0, 0);
    for read in reads {
        checked += 1;
        bases += read.len();
        if checked > MOST_READS || bases > MOST_BASES || most > MOST_HITS {
            break;
        }
        for &(adapter, Hit { differ, .. }) in search.hits(read) {
            let (count, mismatches) = &mut hits[adapter];
            // An adapter that falls far behind is not searched for any more.
            if most > CERTAIN && *count < most / 10 {
                continue;
            }
            *count += 1;
            *mismatches += differ;
            most = most.max(*count);
        }
    }
    let mut best = None;
    let mut most = 0;
    for (adapter, &(count, mismatches)) in search.adapters.iter().zip(&hits) {
        if count > most {
            most = count;
            best = Some((adapter, mismatches));
        }
    }
    let (adapter, mismatches) = best?;
    let enough = most > checked / 50 || (most > checked / 200 && mismatches < checked);
    enough.then(|| String::from_utf8_lossy(adapter).into_owned())
}

/// The first place of an adapter in a read, and the number of differences there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Hit {
    at: usize,
    differ: usize,
}

/// Finds all adapters of a read at once.
struct Search {
    adapters: Vec<&'static [u8]>,
    /// The words of all adapters, sorted: the word, the adapter, and the position of the
    /// word in it.
    words: Vec<(usize, usize, usize)>,
    /// The index of each word in `words`.
    starts: Vec<u32>,
    hits: Vec<(usize, Hit)>,
}

impl Search {
    fn new(adapters: Vec<&'static [u8]>) -> Self {
        let mut words = vec![];
        for (which, adapter) in adapters.iter().enumerate() {
            each_word(adapter, |word, at| {
                if at % WORD == 0 {
                    words.push((word, which, at));
                }
            });
        }
        words.sort_unstable();
        let mut starts = vec![0; WORDS + 1];
        words.iter().for_each(|&(word, ..)| starts[word + 1] += 1);
        for word in 0..WORDS {
            starts[word + 1] += starts[word];
        }
        Self {
            adapters,
            words,
            starts,
            hits: vec![],
        }
    }

    /// Returns the adapters that the read has, in their order, each with its first place.
    fn hits(&mut self, read: &[u8]) -> &[(usize, Hit)] {
        let Self {
            adapters,
            words,
            starts,
            hits,
        } = self;
        hits.clear();
        each_word(read, |word, place| {
            let same = starts[word] as usize..starts[word + 1] as usize;
            for &(_, which, offset) in &words[same] {
                let Some(at) = place.checked_sub(offset) else {
                    continue;
                };
                let known = hits.iter().position(|&(other, _)| other == which);
                if known.is_some_and(|known| hits[known].1.at <= at) {
                    continue;
                }
                if let Some(hit) = compare(adapters[which], read, at) {
                    match known {
                        Some(known) => hits[known].1 = hit,
                        None => hits.push((which, hit)),
                    }
                }
            }
        });
        hits.sort_unstable_by_key(|&(which, _)| which);
        hits
    }
}

/// Returns a hit if the adapter is at this place of the read.
fn compare(adapter: &[u8], read: &[u8], at: usize) -> Option<Hit> {
    if adapter.len() >= read.len() || at + REQUIRED >= read.len() {
        return None;
    }
    let compared = adapter.len().min(read.len() - at);
    let allowed = compared / BASES_A_MISMATCH;
    let mut differ = 0;
    for (a, b) in adapter[..compared].iter().zip(&read[at..]) {
        differ += (a != b) as usize;
        if differ > allowed {
            return None;
        }
    }
    Some(Hit { at, differ })
}

/// Calls `each` with every word of the sequence and its place.
fn each_word(seq: &[u8], mut each: impl FnMut(usize, usize)) {
    let (mut word, mut known) = (0, 0);
    for (at, &base) in seq.iter().enumerate() {
        let code = match base {
            b'A' => 0,
            b'C' => 1,
            b'G' => 2,
            b'T' => 3,
            _ => {
                known = 0;
                continue;
            }
        };
        word = (word << 2 | code) & (WORDS - 1);
        known += 1;
        if known >= WORD {
            each(word, at + 1 - WORD);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hits are those of trying every adapter at every place.
    #[test]
    fn no_hit_is_missed() {
        let mut state = 3u64;
        let mut below = |end: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % end
        };
        let known: Vec<_> = all().collect();
        let mut search = Search::new(known.clone());
        let mut found = 0;
        for _ in 0..300 {
            let mut read: Vec<u8> = (0..below(80)).map(|_| b"ACGT"[below(4)]).collect();
            read.extend_from_slice(known[below(known.len())]);
            for _ in 0..below(6) {
                let at = below(read.len());
                read[at] = b"ACGTN"[below(5)];
            }
            read.truncate(1 + below(read.len() + 20));
            let expected: Vec<_> = known
                .iter()
                .enumerate()
                .filter_map(|(which, adapter)| {
                    let hit = (0..read.len()).find_map(|at| compare(adapter, &read, at));
                    hit.map(|hit| (which, hit))
                })
                .collect();
            let hits = search.hits(&read).to_vec();
            assert_eq!(hits, expected, "{}", String::from_utf8_lossy(&read));
            found += hits.len();
        }
        assert!(found > 300, "{found}");
    }
}
