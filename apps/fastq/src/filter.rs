//! Which reads pass, and the trims that depend on one read alone.

use crate::count;
use crate::options::{Options, Window};
use crate::record::Read4;

/// Why a read fails. For a pair, the greater verdict counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    Pass,
    TooManyN,
    TooShort,
    TooLong,
    Quality,
    Complexity,
    Dimer,
}

/// How many verdicts there are.
pub const VERDICTS: usize = Verdict::Dimer as usize + 1;

impl Verdict {
    /// Returns the text that `--failed_out` has after the name.
    pub fn tag(self) -> &'static [u8] {
        match self {
            Self::Pass => b"passed",
            Self::TooManyN => b"failed_too_many_n_bases",
            Self::TooShort => b"failed_too_short",
            Self::TooLong => b"failed_too_long",
            Self::Quality => b"failed_quality_filter",
            Self::Complexity => b"failed_low_complexity",
            Self::Dimer => b"failed_adapter_dimer",
        }
    }
}

/// Decides whether a read passes the filters; `None` is a read of which trimming left
/// nothing.
pub fn judge(options: &Options, read: Option<&Read4<'_>>) -> Verdict {
    let Some(read) = read.filter(|read| read.len() > 0) else {
        return Verdict::TooShort;
    };
    let len = read.len();
    if options.quality_filter {
        let qualified = options.qualified;
        let (low, unknown) = low_and_unknown(read.qual, read.seq, qualified);
        if low as f64 > (options.unqualified_percent * len as i64) as f64 / 100.0 {
            return Verdict::Quality;
        }
        if options.average_quality > 0 {
            let total: i64 = read.qual.iter().map(|&qual| (qual as i8 as i64) - 33).sum();
            if total / (len as i64) < options.average_quality {
                return Verdict::Quality;
            }
        }
        if unknown as i64 > options.n_limit {
            return Verdict::TooManyN;
        }
    }
    if options.length_filter {
        if len < options.length_required {
            return Verdict::TooShort;
        }
        if options.length_limit > 0 && len > options.length_limit {
            return Verdict::TooLong;
        }
    }
    match options.complexity {
        Some(threshold) if !complex(read.seq, threshold) => Verdict::Complexity,
        _ => Verdict::Pass,
    }
}

vectorized! {
    /// Returns the number of qualities below a limit, and the number of unknown bases.
    fn low_and_unknown(qual: &[u8], seq: &[u8], qualified: i8) -> (usize, usize) {
        let low = count::bytes(qual, |qual| (qual as i8) < qualified);
        (low, count::bytes(seq, |base| base == b'N'))
    }
}

fn complex(seq: &[u8], threshold: f64) -> bool {
    if seq.len() <= 1 {
        return false;
    }
    let changes = count::differences(seq, &seq[1..]);
    changes as f64 / (seq.len() - 1) as f64 >= threshold
}

/// Trims `front` and `tail` bases, then cuts with the sliding windows. Returns how many
/// bases were cut at the front, or `None` if nothing is left.
pub fn trim_and_cut(
    options: &Options,
    read: &mut Read4<'_>,
    front: i64,
    tail: i64,
) -> Option<usize> {
    let windows = [options.cut_front, options.cut_tail, options.cut_right];
    let cutting = windows.iter().any(|window| window.enabled);
    if front == 0 && tail == 0 && !cutting {
        return Some(0);
    }
    let len = read.len() as i64;
    let mut kept = len - front - tail;
    if kept < 0 {
        return None;
    }
    let mut front = front;
    if cutting {
        let (qual, seq) = (read.qual, read.seq);
        if options.cut_front.enabled {
            front = cut_front(qual, seq, options.cut_front, front, tail)?;
            kept = len - front - tail;
        }
        if options.cut_right.enabled {
            if let Some(end) = cut_right(qual, options.cut_right, front, tail)? {
                kept = end - front;
            }
        } else if options.cut_tail.enabled {
            kept = cut_tail(qual, seq, options.cut_tail, front, tail)? - front;
        }
        if kept <= 0 || front >= len - 1 {
            return None;
        }
    }
    read.slice(front as usize, kept as usize);
    Some(front as usize)
}

/// The sum of a window that slides over qualities, taken as signed bytes.
struct Sum<'a> {
    qual: &'a [u8],
    total: i64,
}

impl<'a> Sum<'a> {
    fn of(qual: &'a [u8], from: i64, to: i64) -> Self {
        let total = (from..to).map(|at| qual[at as usize] as i8 as i64).sum();
        Self { qual, total }
    }

    fn take(&mut self, at: i64) {
        self.total += self.qual[at as usize] as i8 as i64;
    }

    fn drop(&mut self, at: i64) {
        self.total -= self.qual[at as usize] as i8 as i64;
    }

    fn good(&self, window: Window) -> bool {
        self.total as f64 / window.size as f64 >= (33 + window.quality) as f64
    }
}

/// Returns where the first good, or bad, window begins, and whether there is one; `None` if
/// the read is too short for a window.
fn first_window(
    qual: &[u8],
    window: Window,
    front: i64,
    tail: i64,
    good: bool,
) -> Option<(i64, bool)> {
    let (len, w) = (qual.len() as i64, window.size);
    if len - front - tail - w <= 0 {
        return None;
    }
    let mut sum = Sum::of(qual, front, front + w - 1);
    let mut s = front;
    while s + w < len - tail {
        sum.take(s + w - 1);
        if s > front {
            sum.drop(s - 1);
        }
        if sum.good(window) == good {
            return Some((s, true));
        }
        s += 1;
    }
    Some((s, false))
}

/// Returns where the read starts after the cut at the front.
fn cut_front(qual: &[u8], seq: &[u8], window: Window, front: i64, tail: i64) -> Option<i64> {
    let len = qual.len() as i64;
    let (mut s, _) = first_window(qual, window, front, tail, true)?;
    // Unless the first base starts a good window, all of the window except its last base is
    // cut.
    if s > 0 {
        s += window.size - 1;
    }
    while s < len && seq[s as usize] == b'N' {
        s += 1;
    }
    Some(s)
}

/// Returns where the read ends after the cut at the first bad window; the inner `None`
/// means that there is no bad window.
fn cut_right(qual: &[u8], window: Window, front: i64, tail: i64) -> Option<Option<i64>> {
    let (mut s, bad) = first_window(qual, window, front, tail, false)?;
    if !bad {
        return Some(None);
    }
    let last = qual.len() as i64 - 1;
    while s < last && qual[s as usize] as i8 as i64 >= 33 + window.quality {
        s += 1;
    }
    Some(Some(s))
}

/// Returns where the read ends after the cut at the tail.
fn cut_tail(qual: &[u8], seq: &[u8], window: Window, front: i64, tail: i64) -> Option<i64> {
    let (len, w) = (qual.len() as i64, window.size);
    if len - front - tail - w <= 0 {
        return None;
    }
    let last = len - tail - 1;
    let mut sum = Sum::of(qual, last - w + 2, last + 1);
    let mut t = last;
    while t - w >= front {
        sum.take(t - w + 1);
        if t < last {
            sum.drop(t + 1);
        }
        if sum.good(window) {
            break;
        }
        t -= 1;
    }
    if t < len - 1 {
        t = t - w + 1;
    }
    while t >= 0 && seq[t as usize] == b'N' {
        t -= 1;
    }
    Some(t + 1)
}

/// One mismatch is allowed for this many bases of a poly tail, and at most the other number
/// in all.
const BASES_A_MISMATCH: i64 = 8;
const MOST_MISMATCHES: i64 = 5;

/// Trims a tail of G.
pub fn trim_poly_g(read: &mut Read4<'_>, shortest: i64) {
    let len = read.len() as i64;
    let (mut mismatches, mut first, mut at) = (0, len - 1, 0);
    while at < len {
        let position = len - at - 1;
        if read.seq[position as usize] == b'G' {
            first = position;
        } else {
            mismatches += 1;
        }
        let allowed = (at + 1) / BASES_A_MISMATCH;
        if mismatches > MOST_MISMATCHES || (mismatches > allowed && at >= shortest - 1) {
            break;
        }
        at += 1;
    }
    if at >= shortest && first >= 0 {
        read.truncate(first as usize);
    }
}

/// Trims a tail of one base. Returns the base, as 0 to 3, and the number of cut bases.
pub fn trim_poly_x(read: &mut Read4<'_>, shortest: i64) -> Option<(usize, u64)> {
    let len = read.len() as i64;
    let mut counts = [0i64; 4];
    let mut at = 0;
    while at < len {
        match read.seq[(len - at - 1) as usize] {
            b'A' => counts[0] += 1,
            b'T' => counts[1] += 1,
            b'C' => counts[2] += 1,
            b'G' => counts[3] += 1,
            b'N' => counts.iter_mut().for_each(|count| *count += 1),
            _ => {}
        }
        let seen = at + 1;
        let allowed = MOST_MISMATCHES.min(seen / BASES_A_MISMATCH);
        let none = counts.iter().all(|count| seen - count > allowed);
        if none && (at >= BASES_A_MISMATCH || at + 1 >= shortest - 1) {
            break;
        }
        at += 1;
    }
    if at + 1 < shortest {
        return None;
    }
    let mut base = 0;
    for other in 1..4 {
        if counts[other] > counts[base] {
            base = other;
        }
    }
    let found = |at: i64| at < len && read.seq[(len - at - 1) as usize] == b"ATCG"[base];
    while at >= 0 && !found(at) {
        at -= 1;
    }
    read.truncate((len - at - 1).max(0) as usize);
    Some((base, (at + 1) as u64))
}
