//! The work on each read. A [`Worker`] takes blocks of reads in any order. It only notes
//! results that depend on the order of all reads, for the
//! [`Collector`](crate::collect::Collector).

use crate::counts::{Counts, LONGEST_INSERT};
use crate::done::{Done, STREAMS, Stream};
use crate::duplicates::Places;
use crate::filter::{self, Verdict};
use crate::noted::Of;
use crate::options::{Options, Umi};
use crate::overlap::{self, Corrected, Limits, Merged, Overlap};
use crate::record::{Block, Read4};
use crate::trim;
use crate::umi;
use std::sync::Arc;

/// Blocks of reads that go through the program together.
#[derive(Default)]
pub struct Batch {
    pub reads: [Block; 2],
    /// `true` for each read or pair that occurred before, with `--dedup`.
    pub duplicate: Vec<bool>,
}

impl Batch {
    /// Returns the number of reads or pairs.
    pub fn len(&self, options: &Options) -> usize {
        if options.interleaved {
            self.reads[0].len() / 2
        } else {
            self.reads[0].len()
        }
    }

    /// Returns a read, or both reads of a pair.
    pub fn get(&self, options: &Options, at: usize) -> (Read4<'_>, Option<Read4<'_>>) {
        if options.interleaved {
            (
                self.reads[0].get(2 * at),
                Some(self.reads[0].get(2 * at + 1)),
            )
        } else {
            (
                self.reads[0].get(at),
                options.paired().then(|| self.reads[1].get(at)),
            )
        }
    }
}

/// Memory that is reused for each pair.
#[derive(Default)]
struct Scratch {
    names: [[Vec<u8>; 2]; 2],
    corrected: [Corrected; 2],
    rc: Vec<u8>,
    rc_after: Vec<u8>,
    merged: Merged,
}

/// Processes batches.
pub struct Worker {
    options: Arc<Options>,
    writes: [bool; STREAMS],
    limits: Limits,
    places: Option<Arc<Places>>,
    pub counts: Counts,
    scratch: Scratch,
}

impl Worker {
    /// `writes` are the streams that are written; `places` determines the bits of
    /// duplicates.
    pub fn new(
        options: Arc<Options>,
        writes: [bool; STREAMS],
        places: Option<Arc<Places>>,
    ) -> Self {
        let limits = Limits {
            required: options.overlap_required,
            differences: options.overlap_differences,
            share: options.overlap_percent as f64 / 100.0,
        };
        Self {
            options,
            writes,
            limits,
            places,
            counts: Counts::default(),
            scratch: Scratch::default(),
        }
    }

    /// Processes a batch. The memory of its blocks goes back with the batch.
    pub fn process(&mut self, batch: &mut Batch) -> Done {
        let mut done = Done::default();
        if self.options.phred64 {
            batch.reads.iter_mut().for_each(Block::shift_to_phred33);
        }
        for (out, wanted) in done.out.iter_mut().zip(self.writes) {
            if wanted {
                *out = crate::output::SPARE.take();
                out.clear();
            }
        }
        let options = self.options.clone();
        let mut scratch = std::mem::take(&mut self.scratch);
        for at in 0..batch.len(&options) {
            let duplicate = batch.duplicate.get(at).copied().unwrap_or(false);
            let (read1, read2) = batch.get(&options, at);
            self.note(&read1, read2.as_ref(), &mut done);
            match read2 {
                None => self.single(&options, read1, duplicate, &mut scratch, &mut done),
                Some(read2) => {
                    self.pair(&options, [read1, read2], duplicate, &mut scratch, &mut done)
                }
            }
        }
        self.scratch = scratch;
        done
    }

    /// Notes the results that depend on all earlier reads.
    fn note(&self, read1: &Read4<'_>, read2: Option<&Read4<'_>>, done: &mut Done) {
        done.reads += 1;
        if let Some(places) = &self.places {
            places.note(read1, read2, &mut done.places);
        }
        if self.options.overrepresented {
            done.all_bases[0].push(read1.seq);
            if let Some(read2) = read2 {
                done.all_bases[1].push(read2.seq);
            }
        }
    }

    fn single(
        &mut self,
        options: &Options,
        original: Read4<'_>,
        duplicate: bool,
        scratch: &mut Scratch,
        done: &mut Done,
    ) {
        if umi::listed(
            &options.index1,
            umi::first_index,
            original.name,
            options.index_threshold,
        ) {
            self.counts.before[0].add(original.seq, original.qual);
            return;
        }
        let mut read = original;
        let [fixed, named] = &mut scratch.names[0];
        if options.fix_mgi_id {
            read.name = umi::fix_mgi(read.name, fixed);
        }
        if let Some(umi) = &options.umi {
            let found = umi::take(umi, &mut read, None);
            read.name = name(umi, &found, read.name, named);
        }
        let trim = options.trim[0];
        let left = filter::trim_and_cut(options, &mut read, trim.front, trim.tail).is_some();
        let dimer = left && self.trim_single(options, &mut read, done);
        let verdict = judge(options, dimer, left.then_some(&read));
        self.counts.verdicts[verdict as usize] += 1;
        let passes = verdict == Verdict::Pass && !duplicate;
        self.count(0, &original, passes.then_some(&read), done);
        if passes {
            done.passed += 1;
            self.write(Stream::Out1, &read, done);
        } else if !duplicate && verdict != Verdict::Pass {
            self.fail(&read, verdict.tag(), done);
        }
    }

    /// Trims a read of which something is left after the cuts at its ends. Returns `true` if it is an
    /// adapter dimer.
    fn trim_single(&mut self, options: &Options, read: &mut Read4<'_>, done: &mut Done) -> bool {
        if options.poly_g {
            filter::trim_poly_g(read, options.poly_g_min);
        }
        let mut dimer = false;
        if options.adapters {
            let noted = &mut done.adapters;
            let mut trimmed = trim::known(read, &options.adapter1, Of::Read1, noted);
            trim::all(options, read, Of::Read1, &mut trimmed, noted);
            dimer = trimmed && trim::is_short(options, read);
        }
        self.poly_x(options, read);
        if options.trim[0].max_len > 0 {
            read.truncate(options.trim[0].max_len);
        }
        dimer
    }

    /// Counts a read before the filters and, if it passed, after them.
    fn count(
        &mut self,
        which: usize,
        original: &Read4<'_>,
        after: Option<&Read4<'_>>,
        done: &mut Done,
    ) {
        match after {
            Some(after) if std::ptr::eq(after.seq, original.seq) => {
                self.counts.both[which].add(original.seq, original.qual);
            }
            Some(after) => {
                self.counts.before[which].add(original.seq, original.qual);
                self.counts.after[which].add(after.seq, after.qual);
            }
            None => self.counts.before[which].add(original.seq, original.qual),
        }
        if let Some(after) = after {
            self.note_passed(which, after, done);
        }
    }

    fn note_passed(&self, which: usize, read: &Read4<'_>, done: &mut Done) {
        if self.options.overrepresented {
            done.passed_bases[which].push(read.seq);
        }
    }

    fn write(&self, stream: Stream, read: &Read4<'_>, done: &mut Done) {
        if self.writes[stream as usize] {
            read.write(&mut done.out[stream as usize]);
        }
    }

    fn fail(&self, read: &Read4<'_>, tag: &[u8], done: &mut Done) {
        if self.writes[Stream::Failed as usize] {
            read.write_tagged(tag, &mut done.out[Stream::Failed as usize]);
        }
    }

    fn poly_x(&mut self, options: &Options, read: &mut Read4<'_>) {
        if !options.poly_x {
            return;
        }
        if let Some((base, bases)) = filter::trim_poly_x(read, options.poly_x_min) {
            self.counts.poly_x_reads[base] += 1;
            self.counts.poly_x_bases[base] += bases;
        }
    }

    fn pair(
        &mut self,
        options: &Options,
        original: [Read4<'_>; 2],
        duplicate: bool,
        scratch: &mut Scratch,
        done: &mut Done,
    ) {
        if is_listed(options, &original) {
            for (which, original) in original.iter().enumerate() {
                self.counts.before[which].add(original.seq, original.qual);
            }
            return;
        }
        let Scratch {
            names,
            corrected,
            rc,
            rc_after,
            merged,
        } = scratch;
        let mut reads = original;
        rename(options, &mut reads, names);
        let mut fronts = [None; 2];
        for (which, read) in reads.iter_mut().enumerate() {
            let trim = options.trim[which];
            fronts[which] = filter::trim_and_cut(options, read, trim.front, trim.tail);
        }
        let left = [fronts[0].is_some(), fronts[1].is_some()];
        let mut overlapping = None;
        let mut dimer = false;
        if let [Some(front1), Some(front2)] = fronts {
            dimer = self.trim_pair(options, &mut reads, [front1, front2], rc, corrected, done);
            if options.merge {
                overlap::reverse_complement(reads[1].seq, rc_after);
                overlapping = overlap::find(reads[0].seq, rc_after, self.limits);
            }
        }
        if options.merge && left == [true, true] {
            if let Some(found) = overlapping {
                let merged = overlap::merge(&reads[0], &reads[1], rc_after, found, merged);
                self.merged(options, &original, &merged, done);
                return;
            }
            if options.include_unmerged {
                self.unmerged(options, &original, &reads, dimer, duplicate, done);
                return;
            }
        }
        let verdicts =
            [0, 1].map(|which| judge(options, dimer, left[which].then_some(&reads[which])));
        self.finish(options, &original, &reads, verdicts, duplicate, done);
    }

    /// Trims and corrects a pair, of whose reads something is left after the cuts at their ends: they
    /// lost so many bases at their fronts. Returns `true` if the pair is an adapter dimer.
    fn trim_pair<'a>(
        &mut self,
        options: &Options,
        reads: &mut [Read4<'a>; 2],
        fronts: [usize; 2],
        rc: &mut Vec<u8>,
        corrected: &'a mut [Corrected; 2],
        done: &mut Done,
    ) -> bool {
        if options.poly_g {
            reads
                .iter_mut()
                .for_each(|read| filter::trim_poly_g(read, options.poly_g_min));
        }
        overlap::reverse_complement(reads[1].seq, rc);
        let found = if options.overlap_gap && (options.adapters || options.correction) {
            overlap::find_with_gap(reads[0].seq, rc, self.limits)
        } else {
            overlap::find(reads[0].seq, rc, self.limits)
        };
        self.insert_size(reads, found, fronts[0] + fronts[1]);
        if options.correction
            && let Some(found) = found.filter(|found| !found.gap)
        {
            self.correct(reads, found, corrected);
        }
        let mut dimer = false;
        if options.adapters {
            let trimmed = trim::pair(options, reads, found, fronts, &mut done.adapters);
            dimer = trimmed && reads.iter().all(|read| trim::is_short(options, read));
        }
        self.overlapped(reads, rc, done);
        for (which, read) in reads.iter_mut().enumerate() {
            self.poly_x(options, read);
            if options.trim[which].max_len > 0 {
                read.truncate(options.trim[which].max_len);
            }
        }
        dimer
    }

    fn insert_size(&mut self, reads: &[Read4<'_>; 2], found: Option<Overlap>, fronts: usize) {
        let size = match found {
            Some(found) if found.offset > 0 => reads[0].len() + reads[1].len() - found.len + fronts,
            Some(found) => found.len + fronts,
            None => LONGEST_INSERT,
        };
        self.counts.inserts[size.min(LONGEST_INSERT)] += 1;
    }

    fn correct<'a>(
        &mut self,
        reads: &mut [Read4<'a>; 2],
        found: Overlap,
        out: &'a mut [Corrected; 2],
    ) {
        let (changed, bases) = overlap::correct(&reads[0], &reads[1], found, out);
        self.counts.corrected_bases += bases;
        self.counts.corrected_reads += changed.iter().filter(|&&changed| changed).count() as u64;
        for ((read, changed), out) in reads.iter_mut().zip(changed).zip(&*out) {
            if changed {
                (read.seq, read.qual) = (&out.seq, &out.qual);
            }
        }
    }

    /// Writes the bases that fastp writes to `--overlapped_out`: not the overlapping part of
    /// read 1, but the bases that follow after as many bases as that part is long.
    fn overlapped(&self, reads: &[Read4<'_>; 2], rc: &mut Vec<u8>, done: &mut Done) {
        if !self.writes[Stream::Overlapped as usize] {
            return;
        }
        overlap::reverse_complement(reads[1].seq, rc);
        if let Some(found) = overlap::find(
            reads[0].seq,
            rc,
            Limits {
                share: 0.0,
                ..self.limits
            },
        ) {
            let mut part = reads[0];
            part.slice(found.offset.max(0) as usize + found.len, usize::MAX / 2);
            self.write(Stream::Overlapped, &part, done);
        }
    }

    /// Finishes a pair that was merged into one read. It is not dropped as a duplicate.
    fn merged(
        &mut self,
        options: &Options,
        original: &[Read4<'_>; 2],
        merged: &Read4<'_>,
        done: &mut Done,
    ) {
        let verdict = filter::judge(options, Some(merged));
        self.counts.verdicts[verdict as usize] += 2;
        for (which, original) in original.iter().enumerate() {
            self.count(which, original, None, done);
        }
        if verdict == Verdict::Pass {
            self.counts.after[0].add(merged.seq, merged.qual);
            self.note_passed(0, merged, done);
            self.counts.merged_pairs += 1;
            done.passed += 1;
            self.write(Stream::Merged, merged, done);
        }
    }

    /// Finishes a pair that does not overlap, but still goes to the merged reads.
    fn unmerged(
        &mut self,
        options: &Options,
        original: &[Read4<'_>; 2],
        reads: &[Read4<'_>; 2],
        dimer: bool,
        duplicate: bool,
        done: &mut Done,
    ) {
        for (which, (original, read)) in original.iter().zip(reads).enumerate() {
            let verdict = judge(options, dimer, Some(read));
            self.counts.verdicts[verdict as usize] += 1;
            self.count(which, original, None, done);
            if verdict == Verdict::Pass && !duplicate {
                self.counts.after[0].add(read.seq, read.qual);
                self.note_passed(0, read, done);
                self.write(Stream::Merged, read, done);
            }
        }
    }

    /// Finishes a pair that stays a pair.
    fn finish(
        &mut self,
        options: &Options,
        original: &[Read4<'_>; 2],
        reads: &[Read4<'_>; 2],
        verdicts: [Verdict; 2],
        duplicate: bool,
        done: &mut Done,
    ) {
        self.counts.verdicts[verdicts[0].max(verdicts[1]) as usize] += 2;
        let pass = verdicts.map(|verdict| verdict == Verdict::Pass);
        let both = pass == [true, true] && !duplicate;
        let counted = both && !options.merge;
        for which in 0..2 {
            self.count(
                which,
                &original[which],
                counted.then_some(&reads[which]),
                done,
            );
        }
        if duplicate {
            return;
        }
        match pass {
            [true, true] => {
                done.passed += 1;
                let second = if options.stdout && !options.merge {
                    Stream::Out1
                } else {
                    Stream::Out2
                };
                if !(options.stdout && options.merge) {
                    self.write(Stream::Out1, &reads[0], done);
                    self.write(second, &reads[1], done);
                }
            }
            [true, false] => self.half(Stream::Unpaired1, reads, 0, verdicts[1], done),
            [false, true] => self.half(Stream::Unpaired2, reads, 1, verdicts[0], done),
            // fastp does not write such a pair anywhere, not even to `--failed_out`.
            [false, false] => {}
        }
    }

    /// Finishes a pair of which the read `good` passes and the other fails.
    fn half(
        &self,
        stream: Stream,
        reads: &[Read4<'_>; 2],
        good: usize,
        verdict: Verdict,
        done: &mut Done,
    ) {
        let failing = &b"paired_read_is_failing"[..];
        let same =
            !self.options.unpaired1.is_empty() && self.options.unpaired1 == self.options.unpaired2;
        let stream = if same { Stream::Unpaired1 } else { stream };
        if self.writes[stream as usize] {
            // Without a file for the unpaired reads 1, fastp writes nothing to that of
            // reads 2.
            if stream == Stream::Unpaired1 || !self.options.unpaired1.is_empty() {
                self.write(stream, &reads[good], done);
            }
            self.fail(&reads[1 - good], verdict.tag(), done);
        } else {
            for (which, read) in reads.iter().enumerate() {
                self.fail(
                    read,
                    if which == good {
                        failing
                    } else {
                        verdict.tag()
                    },
                    done,
                );
            }
        }
    }
}

/// Returns `true` if the pair has a barcode that is to be dropped.
fn is_listed(options: &Options, [read1, read2]: &[Read4<'_>; 2]) -> bool {
    let threshold = options.index_threshold;
    umi::listed(&options.index1, umi::first_index, read1.name, threshold)
        || umi::listed(&options.index2, umi::last_index, read2.name, threshold)
}

/// Corrects the names of a pair, and moves its UMI into them.
fn rename<'a>(
    options: &Options,
    [read1, read2]: &mut [Read4<'a>; 2],
    names: &'a mut [[Vec<u8>; 2]; 2],
) {
    let [[fixed1, named1], [fixed2, named2]] = names;
    if options.fix_mgi_id {
        read1.name = umi::fix_mgi(read1.name, fixed1);
        read2.name = umi::fix_mgi(read2.name, fixed2);
    }
    if let Some(umi) = &options.umi {
        let found = umi::take(umi, read1, Some(read2));
        read1.name = name(umi, &found, read1.name, named1);
        read2.name = name(umi, &found, read2.name, named2);
    }
}

fn name<'a>(umi: &Umi, found: &[u8], name: &'a [u8], out: &'a mut Vec<u8>) -> &'a [u8] {
    if found.is_empty() && !umi::always(umi) {
        return name;
    }
    umi::add(umi, found, name, out)
}

/// Decides whether a read passes. An adapter dimer fails, whatever else it has.
fn judge(options: &Options, dimer: bool, read: Option<&Read4<'_>>) -> Verdict {
    if dimer {
        Verdict::Dimer
    } else {
        filter::judge(options, read)
    }
}
