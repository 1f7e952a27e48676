//! Runs fastp 0.23.2 and `blitz-fastq` on the same input. Both must write the same reads and
//! the same figures. fastp runs with one thread, because with several it takes the insert
//! sizes and its samples from some reads only.
//!
//! `blitz-fastq` has the results of fastp 1.3.6, which no package has for these tests (the
//! test `golden` compares with recorded results). So these tests leave out two differences of
//! the versions: pairs with adapters that are given by their sequence, and duplicates that
//! only look alike. They also undo three differences: adapter dimers, Q40 bases, and the
//! third line of merged reads.

mod common;

use common::{ADAPTER1, BLITZ, Random, pairs, run};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Whether fastp is installed; prints a message if it is not.
fn fastp() -> bool {
    let version = std::process::Command::new("fastp")
        .arg("--version")
        .output();
    let there = version.is_ok_and(|version| {
        [version.stdout, version.stderr]
            .concat()
            .starts_with(b"fastp 0.23.2")
    });
    if !there {
        eprintln!(
            "skipped: no fastp 0.23.2 to compare with (Debian has it: apt-get install fastp)"
        );
    }
    there
}

fn folder(seed: u64, reads: usize, odd: bool) -> TempDir {
    let folder = TempDir::new().unwrap();
    let [one, two] = pairs(seed, reads, odd);
    let mut both = String::new();
    let mut lines = [one.lines(), two.lines()];
    while let Some(line) = lines[0].next() {
        let rest = |lines: &mut std::str::Lines<'_>, n| {
            lines.take(n).map(|l| format!("{l}\n")).collect::<String>()
        };
        both += &format!(
            "{line}\n{}{}",
            rest(&mut lines[0], 3),
            rest(&mut lines[1], 4)
        );
    }
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("1.fq", &one);
    write("2.fq", &two);
    write("both.fq", &both);
    write("crlf.fq", one.replace('\n', "\r\n").trim_end());
    write(
        "adapters.fa",
        &format!(">b x\n{ADAPTER1}\n>a\nACGTACGT\nTAGCACGG\n>c\nACG\n"),
    );
    write("index1", "ACGTAC\n");
    write("index2", "TTGAA\r\nTTTTT\n");
    folder
}

/// Returns a JSON report without the fields that version 1.3.6 has and 0.23.2 lacks.
fn as_before_1_3(json: &str) -> String {
    let version = concat!("\"1.3.6+blitz-fastq.", env!("CARGO_PKG_VERSION"), "\"");
    json.replace(version, "\"0.23.2\"")
        .split_inclusive('\n')
        .filter(|line| !line.contains("\"q40_bases\"") && !line.contains("\"adapter_dimer_reads\""))
        .collect()
}

/// Returns merged reads with the third lines that version 0.23.2 writes: those of read 1.
fn without_merged_strands(reads: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(reads).unwrap();
    let lines = text.lines().map(|line| match line.split_once(' ') {
        Some((strand @ "+strand", _)) => format!("{strand}\n"),
        _ => format!("{line}\n"),
    });
    lines.collect::<String>().into_bytes()
}

/// Returns the first line that differs, with its number.
fn first_difference(theirs: &[u8], ours: &[u8]) -> String {
    let lines = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes)
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (theirs, ours) = (lines(theirs), lines(ours));
    let at = theirs
        .iter()
        .zip(&ours)
        .position(|(a, b)| a != b)
        .unwrap_or(theirs.len().min(ours.len()));
    let shown = |lines: &[String]| {
        lines
            .get(at)
            .map(|line| line.chars().take(200).collect::<String>())
    };
    let (line, theirs, ours) = (at + 1, shown(&theirs), shown(&ours));
    format!("line {line}:\n  {theirs:?}\n  {ours:?}")
}

/// Runs both programs and returns how they differ.
fn difference(folder: &Path, arguments: &str) -> Option<String> {
    let theirs = run("fastp", folder, &format!("{arguments} -w 1"));
    // No read is so short that it is an adapter dimer.
    let mut ours = run(
        BLITZ,
        folder,
        &format!("{arguments} -w 2 --dimer_max_len -1"),
    );
    if let Some(merged) = ours.files.get_mut("m.fq") {
        *merged = without_merged_strands(merged);
    }
    ours.stdout = without_merged_strands(&ours.stdout);
    let differ = |what: &str, theirs: &[u8], ours: &[u8]| {
        format!("{arguments}\n  {what}, {}", first_difference(theirs, ours))
    };
    if theirs.code != ours.code {
        return Some(format!(
            "{arguments}\n  {:?} {:?}\n{}",
            theirs.code, ours.code, ours.stderr
        ));
    }
    if theirs.stdout != ours.stdout {
        return Some(differ("standard output", &theirs.stdout, &ours.stdout));
    }
    let names = |files: &std::collections::BTreeMap<String, Vec<u8>>| {
        files.keys().cloned().collect::<Vec<_>>()
    };
    if names(&theirs.files) != names(&ours.files) {
        return Some(format!(
            "{arguments}\n  {:?} {:?}",
            names(&theirs.files),
            names(&ours.files)
        ));
    }
    for (name, bytes) in &theirs.files {
        if *bytes != ours.files[name] {
            return Some(differ(name, bytes, &ours.files[name]));
        }
    }
    let json = as_before_1_3(&ours.json);
    (theirs.json != json).then(|| differ("JSON", theirs.json.as_bytes(), json.as_bytes()))
}

fn assert_same(folder: &Path, all: impl IntoIterator<Item = String>) {
    let differences: Vec<_> = all
        .into_iter()
        .filter_map(|arguments| difference(folder, &arguments))
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Options for single reads and pairs.
fn options() -> Vec<String> {
    "
        -A| -f 3| -t 5| -f 2 -t 3| -b 50| -g| -G| -x| -x --poly_x_min_len 5|
        -g --poly_g_min_len 4| -5| -3| -r| -5 -3| -5 -r| -5 -3 -W 8 -M 25| -3 -f 5 -t 2| -r -W 1 -M 28|
        --cut_by_quality3| --cut_by_quality5| --cut_by_quality_aggressive| -Q| -q 20 -u 30| -n 0| -e 25| -L|
        -l 60| --length_limit 90| -y| -y -Y 60| --filter_by_index1 ../index1|
        --filter_by_index1 ../index1 --filter_by_index_threshold 2| -U --umi_loc index1|
        -U --umi_loc read1 --umi_len 8| -U --umi_loc read1 --umi_len 8 --umi_skip 2 --umi_prefix UM|
        -U --umi_loc per_index| -U --umi_loc per_read --umi_len 5| --reads_to_process 100|
        --failed_out f.fq| --failed_out f.fq -A -f 4 -3| --fix_mgi_id| -p -P 3| -p"
        .split('|')
        .map(|one| one.trim().to_owned())
        .collect()
}

/// Options for single reads only, here: fastp 1.3.6 takes some of the pairs for reads with
/// adapters that have a gap.
fn sequences() -> [String; 2] {
    [
        format!("-a {ADAPTER1}"),
        "--adapter_fasta ../adapters.fa".to_owned(),
    ]
}

/// Options for pairs only.
fn pair_options() -> Vec<String> {
    "
        -c| -c -3| --unpaired1 u.fq| --unpaired1 u1.fq --unpaired2 u2.fq| --unpaired2 u2.fq|
        --unpaired1 u1.fq --unpaired2 u2.fq --failed_out f.fq| --unpaired1 u1.fq --failed_out f.fq|
        --overlapped_out v.fq| -m --merged_out m.fq| -m --merged_out m.fq --include_unmerged|
        -m --merged_out m.fq --include_unmerged --failed_out f.fq| -F 4 -T 2| -B 40|
        --filter_by_index2 ../index2| -U --umi_loc index2| -U --umi_loc read2 --umi_len 6 --umi_skip 1|
        --overlap_len_require 20| --overlap_diff_limit 1| --overlap_diff_percent_limit 5|
        -c --overlap_diff_limit 12| -A -c"
        .split('|')
        .map(|one| one.trim().to_owned())
        .collect()
}

const SINGLE: &str = "-i ../1.fq -o o1.fq --dont_eval_duplication";
const PAIRED: &str = "-i ../1.fq -I ../2.fq -o o1.fq -O o2.fq --dont_eval_duplication";

#[test]
fn single_reads() {
    if !fastp() {
        return;
    }
    let folder = folder(1, 1500, true);
    let all = options()
        .into_iter()
        .chain(sequences())
        .map(|option| format!("{SINGLE} {option}"));
    assert_same(folder.path(), all.chain([SINGLE.to_owned()]));
}

#[test]
fn pairs_of_reads() {
    if !fastp() {
        return;
    }
    let folder = folder(2, 1500, true);
    let all = options()
        .into_iter()
        .chain(pair_options())
        .map(|option| format!("{PAIRED} {option}"));
    assert_same(folder.path(), all.chain([PAIRED.to_owned()]));
}

/// Options that are chosen at random, two to four for each run.
#[test]
fn options_together() {
    if !fastp() {
        return;
    }
    let folder = folder(3, 700, true);
    let mut random = Random(5);
    let choice: Vec<String> = options().into_iter().chain(pair_options()).collect();
    let mut all = vec![];
    while all.len() < 60 {
        let some: Vec<String> = (0..2 + random.below(3))
            .map(|_| choice[random.below(choice.len())].clone())
            .collect();
        let words = some.join(" ");
        let mut given: Vec<&str> = words
            .split(' ')
            .filter(|word| word.starts_with('-'))
            .collect();
        let len = given.len();
        given.sort_unstable();
        given.dedup();
        if given.len() == len && !(given.contains(&"-g") && given.contains(&"-G")) {
            all.push(format!("{PAIRED} {words}"));
        }
    }
    assert_same(folder.path(), all);
}

#[test]
fn forms_of_input_and_output() {
    if !fastp() {
        return;
    }
    let folder = folder(4, 1200, true);
    let all = [
        "-i ../crlf.fq -o o1.fq --dont_eval_duplication",
        "-i ../both.fq --interleaved_in -o o1.fq -O o2.fq --dont_eval_duplication",
        "-i ../1.fq -I ../2.fq --stdout --dont_eval_duplication",
        "-i ../1.fq -I ../2.fq -m --stdout --dont_eval_duplication",
        "-i ../1.fq --stdout --dont_eval_duplication",
        "-i ../1.fq -I ../2.fq -o o1.fq.gz -O o2.fq.gz --dont_eval_duplication -z 6",
        "-i ../1.fq --dont_eval_duplication",
        "-i ../1.fq -o o.fq -s 3 --dont_eval_duplication",
        "-i ../1.fq -I ../2.fq -o o1.fq -O o2.fq.gz -S 1000 -d 2 --dont_eval_duplication",
        "-i ../1.fq -I ../2.fq -o o1.fq -O o2.fq",
    ];
    assert_same(folder.path(), all.map(str::to_owned));
}

/// Qualities that start at 64. fastp converts only reads for which it takes new memory, as
/// it does for those of the first batch; so there must not be more reads.
#[test]
fn phred64() {
    if !fastp() {
        return;
    }
    let folder = folder(6, 300, false);
    assert_same(
        folder.path(),
        [format!("{SINGLE} -6"), format!("{PAIRED} -6")],
    );
}

#[test]
fn duplicates() {
    if !fastp() {
        return;
    }
    let folder = folder(7, 400, true);
    for name in ["1.fq", "2.fq"] {
        let path = folder.path().join(name);
        let text = fs::read_to_string(&path).unwrap();
        let half: String = text
            .lines()
            .take(600)
            .map(|line| format!("{line}\n"))
            .collect();
        fs::write(&path, text + &half).unwrap();
    }
    let all = [
        "-i ../1.fq -I ../2.fq -o o1.fq -O o2.fq --dedup --dup_calc_accuracy 1",
        "-i ../1.fq -o o1.fq --failed_out f.fq -D --dup_calc_accuracy 2",
        "-i ../1.fq -I ../2.fq -m --merged_out m.fq --include_unmerged -D --dup_calc_accuracy 1",
    ];
    assert_same(folder.path(), all.map(str::to_owned));
}

/// The adapter is detected in inputs of ten thousand reads or more. fastp 1.3.6 looks for
/// the ones it knows first; these are among them.
#[test]
fn detected_adapters() {
    if !fastp() {
        return;
    }
    let folder = folder(8, 11_000, false);
    let adapters = |program: &str, arguments: &str| -> Vec<String> {
        let ran = run(program, folder.path(), arguments);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let lines = ran.json.lines();
        lines
            .filter(|line| line.contains("_adapter_sequence\""))
            .map(str::to_owned)
            .collect()
    };
    for (arguments, number) in [
        (SINGLE.to_owned(), 1),
        (format!("{PAIRED} --detect_adapter_for_pe"), 2),
    ] {
        let theirs = adapters("fastp", &arguments);
        assert_eq!(theirs.len(), number);
        assert!(theirs.iter().all(|line| !line.contains("unspecified")));
        assert_eq!(adapters(BLITZ, &arguments), theirs);
    }
}

/// Where Debian's bowtie2-examples has the genome of a virus, and reads of it.
const EXAMPLES: &str = "/usr/share/doc/bowtie2/examples";

/// Unpacks or copies one of these files into the folder. Returns `false` if it does not
/// exist.
fn bring(folder: &Path, from: &str, to: &str) -> bool {
    let to = fs::File::create(folder.join(to)).unwrap();
    let packed = format!("{EXAMPLES}/{from}.gz");
    let mut command = if Path::new(&packed).exists() {
        let mut command = std::process::Command::new("gzip");
        command.arg("-dc").arg(packed);
        command
    } else {
        let mut command = std::process::Command::new("cat");
        command.arg(format!("{EXAMPLES}/{from}"));
        command
    };
    let there = command.stdout(to).status().unwrap().success();
    if !there {
        eprintln!("skipped: no {from} (Debian has it: apt-get install bowtie2-examples)");
    }
    there
}

/// Options for the qualities and overlaps that machines produce.
const MEANT_FOR_REAL_READS: [&str; 6] = [
    "",
    "-c -5 -3",
    "-r -q 20 -u 30 -l 50",
    "-m --merged_out m.fq",
    "-g -x",
    "-y -U --umi_loc read1 --umi_len 8",
];

/// Pairs as a simulator of sequencing machines makes them from a genome.
#[test]
fn simulated_pairs_of_a_genome() {
    let folder = TempDir::new().unwrap();
    if !fastp() || !bring(folder.path(), "reference/lambda_virus.fa", "genome.fa") {
        return;
    }
    let simulated = std::process::Command::new("art_illumina")
        .args("-q -ss HS25 -i genome.fa -p -l 150 -m 230 -s 60 -c 4000 -rs 3 -na -o".split(' '))
        .arg("")
        .current_dir(folder.path())
        .output();
    if simulated.is_err() {
        eprintln!(
            "skipped: no art_illumina (Debian has it: apt-get install art-nextgen-simulation-tools)"
        );
        return;
    }
    assert_same(
        folder.path(),
        MEANT_FOR_REAL_READS.map(|option| format!("{PAIRED} {option}")),
    );
}

/// Reads from a Debian package.
#[test]
fn example_reads_of_a_package() {
    let folder = TempDir::new().unwrap();
    let pairs = bring(folder.path(), "reads/reads_1.fq", "1.fq")
        && bring(folder.path(), "reads/reads_2.fq", "2.fq");
    if !fastp() || !pairs {
        return;
    }
    assert_same(
        folder.path(),
        MEANT_FOR_REAL_READS.map(|option| format!("{PAIRED} {option}")),
    );
    if bring(folder.path(), "reads/longreads.fq", "1.fq") {
        assert_same(
            folder.path(),
            [SINGLE.to_owned(), format!("{SINGLE} -3 -y")],
        );
    }
}
