//! Adapters that are not among the known ones.
//!
//! Sequences of ten bases that many reads have, the seeds, belong to one. The bases around a seed are
//! those that nearly all reads have there. A read can have as many bases as a line has, so nothing here
//! grows with the number of different sequences. The search walks all places of a seed together, base by
//! base, and leaves out a place that differs. Memory is two numbers for each place.

use crate::known;

/// The longest adapter.
pub const LONGEST: usize = 60;
const SEED: usize = 10;
const SEEDS: usize = 1 << (2 * SEED);
/// The places of a read from this one on can be in an adapter.
const FIRST_PLACE: usize = 20;
/// An adapter is put together from seeds before this place.
const LAST_PLACE: usize = 500;
/// Minimum frequency of a seed, as a multiple of the mean.
const FOLD: i64 = 20;

fn code(base: u8) -> Option<usize> {
    b"ATCG".iter().position(|&known| known == base)
}

fn bases(seed: usize) -> Vec<u8> {
    (0..SEED)
        .rev()
        .map(|at| b"ATCG"[seed >> (2 * at) & 3])
        .collect()
}

/// Calls `each` with every seed of the read and its place.
fn each_seed(seq: &[u8], tail: usize, mut each: impl FnMut(usize, usize)) {
    let Some(end) = seq.len().checked_sub(tail) else {
        return;
    };
    let (mut seed, mut known) = (0, 0);
    for (at, &base) in seq[..end].iter().enumerate().skip(FIRST_PLACE) {
        match code(base) {
            Some(code) => {
                seed = (seed << 2 | code) & (SEEDS - 1);
                known += 1;
            }
            None => known = 0,
        }
        if known >= SEED {
            each(seed, at + 1 - SEED);
        }
    }
}

/// Finds the adapter of the reads. The last `tail` bases of each can belong to none.
pub fn find(reads: &[Box<[u8]>], tail: usize) -> Option<String> {
    let mut counts = vec![0u32; SEEDS];
    for read in reads {
        each_seed(read, tail, |seed, _| counts[seed] += 1);
    }
    counts[0] = 0;
    let (top, sum) = most_frequent(&counts);
    for seed in top {
        let count = counts[seed] as i64;
        if seed == 0 {
            continue;
        }
        if count < 10 || count * (SEEDS as i64) < sum * FOLD {
            break;
        }
        if bases(seed)
            .windows(2)
            .filter(|pair| pair[0] != pair[1])
            .count()
            < 3
        {
            continue;
        }
        if let Some(found) = grow(seed, reads, tail) {
            return Some(found);
        }
    }
    None
}

/// Returns the ten most frequent seeds that can belong to an adapter, and the count of all
/// such seeds.
fn most_frequent(counts: &[u32]) -> ([usize; 10], i64) {
    let mut top = [0usize; 10];
    let mut sum = 0;
    for (seed, &count) in counts.iter().enumerate() {
        let mut each = [0; 4];
        (0..SEED).for_each(|at| each[seed >> (2 * at) & 3] += 1);
        if each.iter().any(|&n| n >= SEED - 4)
            || each[2] + each[3] >= SEED - 2
            || seed >> 12 == 0xff
        {
            continue;
        }
        sum += count as i64;
        // A seed goes before those with the same frequency.
        let place = top
            .iter()
            .rposition(|&other| count < counts[other])
            .map_or(0, |place| place + 1);
        if place < top.len() {
            top[place..].rotate_right(1);
            top[place] = seed;
        }
    }
    (top, sum)
}

/// Returns the adapter around a seed.
fn grow(seed: usize, reads: &[Box<[u8]>], tail: usize) -> Option<String> {
    let read = |place: Place| &reads[place.read as usize][..];
    let (mut leaf, mut adapter) = (true, vec![]);
    let after = shared(places(seed, reads, tail), &mut leaf, |place, depth| {
        let (read, at) = (read(place), usize::from(place.at) + SEED + depth);
        (at < read.len() - tail).then(|| read[at])
    });
    let before = shared(places(seed, reads, tail), &mut leaf, |place, depth| {
        let at = usize::from(place.at).checked_sub(depth + 1)?;
        Some(read(place)[at])
    });
    adapter.extend(before.into_iter().rev());
    adapter.extend(bases(seed));
    adapter.extend(after);
    adapter.truncate(LONGEST);
    if let Some(known) = known::all().find(|known| adapter.starts_with(known)) {
        return Some(String::from_utf8_lossy(known).into_owned());
    }
    leaf.then(|| String::from_utf8_lossy(&adapter).into_owned())
}

/// A place of a seed.
#[derive(Clone, Copy)]
struct Place {
    read: u32,
    at: u16,
}

/// Returns the places of a seed from which an adapter is put together.
fn places(seed: usize, reads: &[Box<[u8]>], tail: usize) -> Vec<Place> {
    let mut places = vec![];
    // The rest of a long read after the last place need not be searched.
    let searched = LAST_PLACE - 1 + SEED + tail;
    for (which, read) in (0..).zip(reads) {
        each_seed(&read[..read.len().min(searched)], tail, |found, at| {
            if found == seed {
                let at = at as u16;
                places.push(Place { read: which, at });
            }
        });
    }
    places
}

/// Returns the bases that nearly all places share from the first on. `base` returns the base of a place
/// at a depth, or `None` if its read ends before. `leaf` becomes false if the places differ after these.
fn shared(
    mut places: Vec<Place>,
    leaf: &mut bool,
    base: impl Fn(Place, usize) -> Option<u8>,
) -> Vec<u8> {
    const SHARE: f64 = 0.95;
    const FEWEST: u32 = 50;
    let mut path = vec![];
    loop {
        let next = |place| base(place, path.len()).filter(|&base| base != b'N');
        // The last three bits distinguish bases; the first base stands for the others.
        let kind = |base: u8| usize::from(base & 7);
        let (mut counts, mut first) = ([0u32; 8], [0; 8]);
        for base in places.iter().filter_map(|&place| next(place)) {
            if counts[kind(base)] == 0 {
                first[kind(base)] = base;
            }
            counts[kind(base)] += 1;
        }
        let total: u32 = counts.iter().sum();
        if total < FEWEST {
            return path;
        }
        let is_shared = |&count: &u32| f64::from(count) / f64::from(total) >= SHARE;
        let Some(which) = counts.iter().position(is_shared) else {
            *leaf = false;
            return path;
        };
        places.retain(|&place| next(place).is_some_and(|base| kind(base) == which));
        path.push(first[which]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sequences, counted by their beginnings: the tree that the walk over the places stands for.
    #[derive(Default)]
    struct Tree {
        children: [Option<Box<Tree>>; 8],
        base: u8,
        count: u32,
    }

    impl Tree {
        fn add(&mut self, seq: &[u8]) {
            let mut node = self;
            for &base in seq.iter().take_while(|&&base| base != b'N') {
                let child = node.children[usize::from(base & 7)].get_or_insert_default();
                if child.count == 0 {
                    child.base = base;
                }
                child.count += 1;
                node = child;
            }
        }

        fn path(&self, leaf: &mut bool) -> Vec<u8> {
            let (mut node, mut path) = (self, vec![]);
            loop {
                let children = || node.children.iter().flatten().map(|child| &**child);
                let total: u32 = children().map(|child| child.count).sum();
                if total < 50 {
                    return path;
                }
                let most = |child: &&Tree| child.count as f64 / total as f64 >= 0.95;
                let Some(child) = children().find(most) else {
                    *leaf = false;
                    return path;
                };
                path.push(child.base);
                node = child;
            }
        }
    }

    #[test]
    fn shared_bases_are_those_of_a_tree() {
        let mut state = 7u64;
        let mut below = |end: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % end
        };
        let (mut leaves, mut ends) = (0, 0);
        for _ in 0..300 {
            let adapter: Vec<u8> = (0..below(80)).map(|_| b"ACGT"[below(4)]).collect();
            let wrong = 1 + below(400);
            let seqs: Vec<Box<[u8]>> = (0..30 + below(150))
                .map(|_| {
                    let mut seq = adapter.clone();
                    for base in &mut seq {
                        if below(wrong) == 0 {
                            *base = b"ACGTNacgtn"[below(10)];
                        }
                    }
                    seq.truncate(below(200));
                    seq.extend((0..below(5)).map(|_| b"ACGT"[below(4)]));
                    seq.into()
                })
                .collect();
            let mut tree = Tree::default();
            seqs.iter().for_each(|seq| tree.add(seq));
            let places = (0..seqs.len() as u32).map(|read| Place { read, at: 0 });
            let (mut leaf, mut expected_leaf) = (true, true);
            let found = shared(places.collect(), &mut leaf, |place, depth| {
                seqs[place.read as usize].get(depth).copied()
            });
            assert_eq!(found, tree.path(&mut expected_leaf));
            assert_eq!(leaf, expected_leaf);
            leaves += usize::from(leaf);
            ends += usize::from(!leaf);
        }
        assert!(leaves > 30 && ends > 30, "{leaves} {ends}");
    }
}
