//! Adapters: which are detected, where an overlap with a gap ends, and which reads are
//! adapter dimers. The other tests have no reads that show these, or no record of them.

mod common;

use common::{ADAPTER1, ADAPTER2, BLITZ, Ran, Random, run};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

fn record(name: &str, seq: &str) -> String {
    format!("@{name}\n{seq}\n+\n{}\n", "I".repeat(seq.len()))
}

fn bases(random: &mut Random, len: usize) -> String {
    (0..len).map(|_| random.of(b"ACGT") as char).collect()
}

fn reverse_complement(seq: &str) -> String {
    let complement = |base| match base {
        'A' => 'T',
        'T' => 'A',
        'C' => 'G',
        _ => 'C',
    };
    seq.chars().rev().map(complement).collect()
}

fn run_well(folder: &Path, arguments: &str) -> Ran {
    let ran = run(BLITZ, folder, arguments);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran
}

/// Returns the lines of a file of reads.
fn lines(ran: &Ran, file: &str) -> Vec<String> {
    let text = String::from_utf8(ran.files[file].clone()).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn figure(ran: &Ran, name: &str) -> Option<u64> {
    let rest = ran.json.split(&format!("\"{name}\": ")).nth(1)?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[test]
fn what_is_left_of_a_dimer_is_not_a_short_read() {
    let folder = TempDir::new().unwrap();
    let long = "CCATTGACGTTAGCATTCCGATTACCGGATATCGT";
    let reads = [
        ("insert0", ADAPTER1.to_owned()),
        ("insert2", format!("TT{ADAPTER1}")),
        ("insert3", format!("TTC{ADAPTER1}")),
        ("no_adapter", "TT".to_owned()),
        ("long", long.to_owned()),
    ];
    let text: String = reads.iter().map(|(name, seq)| record(name, seq)).collect();
    fs::write(folder.path().join("1.fq"), text).unwrap();
    let tags = |ran: &Ran| -> Vec<String> {
        let failed = lines(ran, "f.fq");
        failed
            .iter()
            .step_by(4)
            .map(|name| name[1..].to_owned())
            .collect()
    };
    let common = format!("-i ../1.fq -o o.fq --failed_out f.fq -a {ADAPTER1}");
    let ran = run_well(folder.path(), &common);
    assert_eq!(
        tags(&ran),
        [
            "insert0 failed_adapter_dimer",
            "insert2 failed_adapter_dimer",
            "insert3 failed_too_short",
            "no_adapter failed_too_short",
        ]
    );
    assert_eq!(figure(&ran, "adapter_dimer_reads"), Some(2));
    assert_eq!(figure(&ran, "too_short_reads"), Some(2));
    assert_eq!(lines(&ran, "o.fq")[1], long);
    let ran = run_well(folder.path(), &format!("{common} --dimer_max_len 3"));
    assert_eq!(figure(&ran, "adapter_dimer_reads"), Some(3));
    let ran = run_well(folder.path(), &format!("{common} -A"));
    assert_eq!(figure(&ran, "adapter_dimer_reads"), None);
}

#[test]
fn both_reads_of_a_dimer_are_short() {
    let folder = TempDir::new().unwrap();
    let mut random = Random(61);
    let long = bases(&mut random, 60);
    for (file, seqs) in [
        ("1.fq", [ADAPTER1.to_owned(), format!("A{ADAPTER1}")]),
        ("2.fq", [ADAPTER2.to_owned(), long]),
    ] {
        let text: String = ["both", "one"]
            .iter()
            .zip(&seqs)
            .map(|(name, seq)| record(name, seq))
            .collect();
        fs::write(folder.path().join(file), text).unwrap();
    }
    let ran = run_well(
        folder.path(),
        &format!(
            "-i ../1.fq -I ../2.fq -o o1.fq -O o2.fq --unpaired2 u2.fq --unpaired1 u1.fq \
             -a {ADAPTER1} --adapter_sequence_r2 {ADAPTER2}"
        ),
    );
    assert_eq!(figure(&ran, "adapter_dimer_reads"), Some(2));
    assert_eq!(figure(&ran, "too_short_reads"), Some(2));
    assert_eq!(lines(&ran, "u2.fq").len(), 4);
}

/// A pair that overlaps but for a gap before the last base of the insert.
#[test]
fn an_overlap_may_have_a_gap_if_that_is_wanted() {
    let folder = TempDir::new().unwrap();
    let insert = "ACGGATTACCTTGACGAGTCCATGCATTGCGGATCTACGT";
    // The base at 38 comes one later.
    let first = format!("{}A{}", &insert[..38], &insert[38..39]);
    let write = |file: &str, seq: String| {
        fs::write(folder.path().join(file), record("r", &seq)).unwrap();
    };
    write("1.fq", format!("{first}{}", &ADAPTER1[..20]));
    write(
        "2.fq",
        format!("{}{}", reverse_complement(insert), &ADAPTER2[..20]),
    );
    let common = "-i ../1.fq -I ../2.fq -o o1.fq -O o2.fq --overlap_diff_limit 0 -c";
    let lengths = |ran: &Ran| ["o1.fq", "o2.fq"].map(|file| lines(ran, file)[1].len());
    let ran = run_well(folder.path(), common);
    assert_eq!(lengths(&ran), [60, 60]);
    let ran = run_well(
        folder.path(),
        &format!("{common} --allow_gap_overlap_trimming"),
    );
    assert_eq!(lengths(&ran), [40, 40]);
    assert_eq!(lines(&ran, "o1.fq")[1], first);
    assert_eq!(figure(&ran, "adapter_trimmed_reads"), Some(2));
    assert_eq!(figure(&ran, "corrected_bases"), Some(0));
}

/// fastp trims the tails of G of all machines that see G where there is nothing.
#[test]
fn machines_with_two_colours_are_known_by_their_read_names() {
    let folder = TempDir::new().unwrap();
    let insert = "ACT".repeat(13);
    for (machine, left) in [
        ("LH00123:4", 40),
        ("VH01:2", 40),
        ("A00123:9", 40),
        ("FS1:1", 40),
        ("M00001:3", 70),
        ("SRR1", 70),
    ] {
        let seq = format!("{insert}T{}", "G".repeat(30));
        fs::write(folder.path().join("1.fq"), record(machine, &seq)).unwrap();
        let ran = run_well(folder.path(), "-i ../1.fq -o o.fq");
        assert_eq!(lines(&ran, "o.fq")[1].len(), left, "{machine}");
    }
}

/// fastp finds the longest adapters that it knows, but drops them.
#[test]
fn a_known_adapter_of_more_than_sixty_bases_is_not_trimmed() {
    let folder = TempDir::new().unwrap();
    let mut random = Random(63);
    let mut detected = |adapter: &str| {
        let reads = (0..10_000).map(|at| {
            let insert = 20 + at % 30;
            let seq = format!("{}{adapter}{}", bases(&mut random, insert), "C".repeat(40));
            record("r", &seq)
        });
        fs::write(folder.path().join("1.fq"), reads.collect::<String>()).unwrap();
        let ran = run_well(folder.path(), "-i ../1.fq -o o.fq --dont_eval_duplication");
        figure(&ran, "adapter_trimmed_reads")
    };
    let long = "CAAGCAGAAGACGGCATACGAGATAAAATGGTGACTGGAGTTCCTTGGCACCCGAGAATTCCA";
    assert_eq!(detected(long), None);
    assert_eq!(detected(&ADAPTER1[..33]), Some(10_000));
}

/// The sequences around a frequent seed were a tree as deep as the longest read, which overflowed the stack
/// when it was freed.
#[test]
fn one_long_read_among_many_short_ones_is_examined() {
    let folder = TempDir::new().unwrap();
    let mut random = Random(64);
    let seed = "ACTGATCAGT";
    let mut text = String::new();
    for at in 0..10_000 {
        let seq = format!("{}{seed}{}", bases(&mut random, 25), bases(&mut random, 25));
        text += &record(&format!("r{at}"), &seq);
    }
    let long = format!(
        "{}{seed}{}",
        bases(&mut random, 25),
        bases(&mut random, 300_000)
    );
    text += &record("long", &long);
    fs::write(folder.path().join("1.fq"), text).unwrap();
    let ran = run_well(folder.path(), "-i ../1.fq -o o.fq");
    assert_eq!(lines(&ran, "o.fq").len(), 4 * 10_001);
}
