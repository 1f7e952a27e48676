//! A run that is spread over shards writes what one run writes, byte for byte.

mod common;

use common::{BLITZ, pairs};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// Runs the program in the folder, with words separated by spaces.
fn run(folder: &Path, words: &str) -> Output {
    let mut command = Command::new(BLITZ);
    command.current_dir(folder).args(words.split_whitespace());
    blitz_io_testing::limited(&mut command);
    command.output().unwrap()
}

fn succeed(folder: &Path, words: &str) {
    let output = run(folder, words);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}: {stderr}");
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let named = entries.map(|entry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read(entry.path()).unwrap())
    });
    named.collect()
}

/// Gzip, in members of this many bytes of content.
fn gzip(text: &str, member: usize) -> Vec<u8> {
    let mut out = vec![];
    for part in text.as_bytes().chunks(member) {
        let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::fast());
        encoder.write_all(part).unwrap();
        out = encoder.finish().unwrap();
    }
    out
}

/// A folder with input files `1.fq`, `2.fq`, and the same as `1.gz` (one member), `1.many.gz`
/// (many members), and with all of them in one file as `both.fq`.
fn inputs(seed: u64, count: usize) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = pairs(seed, count, true);
    // Some pairs come again.
    let again = |text: &str| {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let some = lines.chunks(4).step_by(5).map(<[&str]>::concat);
        text.to_owned() + &some.collect::<String>()
    };
    let texts = [again(&first), again(&second)];
    for (name, text) in ["1", "2"].into_iter().zip(&texts) {
        fs::write(folder.path().join(format!("{name}.fq")), text).unwrap();
        let one = gzip(text, text.len());
        fs::write(folder.path().join(format!("{name}.gz")), one).unwrap();
        let many = gzip(text, 10_007);
        fs::write(folder.path().join(format!("{name}.many.gz")), many).unwrap();
    }
    let mut both = String::new();
    let split = |text: &str| -> Vec<String> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        lines.chunks(4).map(<[&str]>::concat).collect()
    };
    for (first, second) in split(&texts[0]).iter().zip(split(&texts[1])) {
        both += first;
        both += &second;
    }
    fs::write(folder.path().join("both.fq"), both).unwrap();
    folder
}

/// Compares one run with its shards, run in the reverse order.
fn compare(inputs: &Path, options: &str, cutting: &str) {
    let folder = |name: &str| {
        let folder = inputs.join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        folder
    };
    let (one, spread) = (folder("one"), folder("spread"));
    succeed(&one, options);
    succeed(&spread, &format!("plan {cutting} {options}"));
    let plan = fs::read_to_string(spread.join("plan.json")).unwrap();
    let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    let shards = plan["shards"].as_array().unwrap().len();
    for shard in (1..=shards).rev() {
        succeed(&spread, &format!("run --shard {shard} --thread 2"));
    }
    succeed(&spread, "merge");
    fs::remove_file(spread.join("plan.json")).unwrap();
    let (one, spread) = (files(&one), files(&spread));
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&one), names(&spread), "{options}");
    for (name, bytes) in &one {
        let text = |bytes: &[u8]| {
            let mut text = String::new();
            let plain = std::io::Read::read_to_string(
                &mut flate2::read::MultiGzDecoder::new(bytes),
                &mut text,
            );
            match plain {
                Ok(_) => text,
                Err(_) => String::from_utf8_lossy(bytes).into_owned(),
            }
        };
        assert!(
            text(bytes) == text(&spread[name]),
            "{name} differs, {cutting}: {options}\n{:.4000}\n{:.4000}",
            text(bytes),
            text(&spread[name])
        );
    }
}

#[test]
fn single_reads() {
    let inputs = inputs(1, 1500);
    for cutting in [
        "--shards 1",
        "--shards 4",
        "--shard-size=377",
        "--shard_size 9999",
    ] {
        for input in ["1.fq", "1.gz", "1.many.gz"] {
            compare(inputs.path(), &format!("-i ../{input} -o out.fq"), cutting);
        }
    }
}

#[test]
fn pairs_with_all_outputs() {
    let inputs = inputs(2, 1200);
    for [first, second] in [["1.fq", "2.fq"], ["1.many.gz", "2.gz"]] {
        let options = format!(
            "-i ../{first} -I ../{second} -o 1.fq.gz -O 2.fq --unpaired1 u1.fq --unpaired2 u2.fq.gz \
             --failed_out failed.fq --overlapped_out over.fq -2 -c -x -5 -3"
        );
        compare(inputs.path(), &options, "--shards 7");
    }
    compare(
        inputs.path(),
        "-i ../1.fq -I ../2.fq -m --merged_out merged.fq --include_unmerged",
        "--shards 3",
    );
}

#[test]
fn interleaved_pairs() {
    let inputs = inputs(3, 700);
    let options = "-i ../both.fq --interleaved_in -o 1.fq -O 2.fq";
    compare(inputs.path(), options, "--shards 5");
    compare(inputs.path(), options, "--shard_size 101");
}

/// What depends on the order of all reads: duplicates, adapters, overrepresented sequences.
#[test]
fn counts_of_the_whole_input() {
    let inputs = inputs(4, 2000);
    for more in [
        "",
        "-D",
        "-D --dup_calc_accuracy 1",
        "--dup_calc_accuracy 6",
        "--dont_eval_duplication",
        "-p -P 1",
        "-p -P 7",
        "-p",
        "-D -p -P 3 --reads_to_process 1999",
    ] {
        let options = format!("-i ../1.fq -I ../2.fq -o 1.fq -O 2.fq {more}");
        compare(inputs.path(), &options, "--shards 6");
    }
    for more in ["", "-D", "-p -P 7"] {
        let options = format!("-i ../1.fq -o 1.fq {more}");
        compare(inputs.path(), &options, "--shards 3");
    }
}

/// More shards than reads, and no reads at all.
#[test]
fn few_reads() {
    let inputs = inputs(5, 3);
    compare(inputs.path(), "-i ../1.fq -o out.fq", "--shards 50");
    fs::write(inputs.path().join("none.fq"), "").unwrap();
    compare(inputs.path(), "-i ../none.fq -o out.fq.gz", "--shards 4");
    compare(
        inputs.path(),
        "-i ../none.fq -o out.fq.gz -D",
        "--shard_size 4",
    );
}

/// Members of compressed output are those of one run, if the shards are large.
#[test]
fn compressed_output_is_the_same_to_the_byte() {
    let inputs = inputs(6, 20_000);
    let options = "-i ../1.fq -I ../2.fq -o 1.fq.gz -O 2.fq.gz";
    compare(inputs.path(), options, "--shards 3");
    let read = |folder: &str| fs::read(inputs.path().join(folder).join("1.fq.gz")).unwrap();
    assert_eq!(read("one"), read("spread"));
}

/// Shards of a gzip member begin within it, by the index beside the plan. Without the index they
/// inflate it from its beginning.
#[test]
fn an_index_leads_into_a_gzip_member() {
    let inputs = inputs(9, 30_000);
    let folder = inputs.path();
    // The fastest level makes one block of everything.
    for name in ["1", "2"] {
        let text = fs::read(folder.join(format!("{name}.fq"))).unwrap();
        let file = fs::File::create(folder.join(format!("{name}.gz"))).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::default());
        encoder.write_all(&text).unwrap();
        encoder.finish().unwrap();
    }
    let options = "-i ../1.gz -I ../2.gz -o 1.fq -O 2.fq";
    compare(folder, options, "--shards 5");
    let spread = folder.join("spread");
    succeed(&spread, &format!("plan --shards 5 {options}"));
    let plan: serde_json::Value =
        serde_json::from_slice(&fs::read(spread.join("plan.json")).unwrap()).unwrap();
    let last = &plan["shards"][4]["begin"];
    assert!(
        last[0]["point"].is_array() && last[1]["point"].is_array(),
        "{last}"
    );
    let index = spread.join("shard-0000.plan.json.index");
    let whole = fs::read(&index).unwrap();
    let part = "shard-0005.1.fq";
    succeed(&spread, "run --shard 5");
    let with = fs::read(spread.join(part)).unwrap();
    fs::remove_file(&index).unwrap();
    succeed(&spread, "run --shard 5");
    assert!(with == fs::read(spread.join(part)).unwrap());
    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    for wrong in [&damaged[..], &whole[..100], &[&whole[1..], &[0]].concat()] {
        fs::write(&index, wrong).unwrap();
        fails(&spread, "run --shard 5", "it is damaged: remove it");
    }
    // An index that is left over does not stay beside a plan without points.
    succeed(&spread, "plan --shards 5 -i ../1.fq -o 1.fq");
    assert!(!index.exists());
}

fn fails(folder: &Path, words: &str, expected: &str) {
    let output = run(folder, words);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{words} succeeds");
    assert!(stderr.contains(expected), "{words}: {stderr}");
}

#[test]
fn wrong_options_are_named() {
    let inputs = inputs(7, 300);
    let folder = inputs.path();
    fails(
        folder,
        "plan -i 1.fq",
        "a plan needs either --shards or --shard_size",
    );
    fails(
        folder,
        "plan --shards 0 -i 1.fq",
        "--shards must be a number of at least 1",
    );
    fails(folder, "plan --shards", "option needs value: --shards");
    fails(
        folder,
        "plan --shards 2 -i 1.fq -o o.fq -s 3",
        "--split and --split_by_lines",
    );
    fails(
        folder,
        "plan --shards 2 -i 1.fq --stdout",
        "--stdout has one writer",
    );
    fails(
        folder,
        "plan --shards 2 -i 1.fq --nonsense",
        "undefined option: --nonsense",
    );
    fails(folder, "run --shard 1", "plan.json: cannot read it");
    fails(folder, "run --nonsense", "undefined option: --nonsense");
    fs::write(folder.join("plan.json"), "{}").unwrap();
    fails(folder, "merge", "this is no plan");
}

const THREE_SHARDS: &str = "plan --shards 3 -i 1.fq -I 2.fq -o o1.fq -O o2.fq";

#[test]
fn wrong_states_are_named() {
    let inputs = inputs(7, 300);
    let folder = inputs.path();
    succeed(folder, THREE_SHARDS);
    fails(folder, "run", "--shard must be a number from 1 to 3");
    fails(
        folder,
        "run --shard 4",
        "--shard must be a number from 1 to 3",
    );
    succeed(folder, "run --shard 2");
    fails(folder, "merge", "these shards have not been run: 1 3");
    succeed(folder, "run --shard 1");
    succeed(folder, "run --shard 3");
    // A state that is cut off, of another plan, or hostile.
    let state = folder.join("shard-0002.plan.json.state");
    let whole = fs::read(&state).unwrap();
    for end in (0..whole.len()).step_by(97) {
        fs::write(&state, &whole[..end]).unwrap();
        fails(folder, "merge", "run shard 2 again");
    }
    let mut random = common::Random(1);
    for _ in 0..60 {
        let mut hostile = whole.clone();
        let at = 20 + random.below(hostile.len() - 20);
        hostile[at] ^= 1 << random.below(8);
        fs::write(&state, &hostile).unwrap();
        let output = run(folder, "merge --keep_shards");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
    fs::write(&state, &whole).unwrap();
    fs::copy(folder.join("plan.json"), folder.join("kept.json")).unwrap();
    succeed(folder, &format!("{THREE_SHARDS} -q 20"));
    fails(folder, "merge", "it belongs to another plan");
    fs::rename(folder.join("kept.json"), folder.join("plan.json")).unwrap();
    succeed(folder, "merge");
    assert!(!state.exists());
}

#[test]
fn wrong_inputs_are_named() {
    let inputs = inputs(7, 300);
    let folder = inputs.path();
    succeed(folder, THREE_SHARDS);
    // The input has changed.
    let text = fs::read_to_string(folder.join("1.fq")).unwrap();
    fs::write(folder.join("1.fq"), text.clone() + "@a\nA\n+\nI\n").unwrap();
    fails(
        folder,
        "run --shard 1",
        "1.fq: it has changed since the plan was made",
    );
    fails(
        folder,
        "plan --shards 2 -i 1.fq -I 2.fq",
        "2.fq: it ends after record 360, line 1440",
    );
    // A wrong record is named by its place in the whole file.
    fs::write(
        folder.join("wrong.fq"),
        "@a\nA\n+\nI\n".repeat(9) + "@b\nAC\n+\nI\n",
    )
    .unwrap();
    succeed(folder, "plan --shards 2 -A -G -i wrong.fq");
    fails(
        folder,
        "run --shard 2",
        "wrong.fq: record 10, line 40: 2 bases, but 1 qualities",
    );
}

/// A shard that was killed is run again, and the result is the same.
#[cfg(unix)]
#[test]
fn a_killed_shard_is_run_again() {
    let inputs = inputs(8, 6_000);
    let spread = inputs.path().join("spread");
    fs::create_dir(&spread).unwrap();
    let options = "-i ../1.fq -I ../2.fq -o 1.fq.gz -O 2.fq.gz -z 9";
    succeed(&spread, &format!("plan --shards 2 {options}"));
    // Killed at any time: before its outputs, among them, or after its end.
    let mut child = Command::new(BLITZ)
        .current_dir(&spread)
        .args(["run", "--shard", "1"])
        .spawn()
        .unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    // Killed among its outputs: the state, which is written last, is not there.
    succeed(&spread, "run --shard 2");
    fs::remove_file(spread.join("shard-0002.plan.json.state")).unwrap();
    fs::write(spread.join("shard-0002.1.fq.gz"), "torn").unwrap();
    succeed(&spread, "run --shard 1");
    fails(&spread, "merge", "these shards have not been run: 2");
    for shard in [1, 2] {
        succeed(&spread, &format!("run --shard {shard}"));
    }
    succeed(&spread, "merge");
    let one = inputs.path().join("one");
    fs::create_dir(&one).unwrap();
    succeed(&one, options);
    for name in ["1.fq.gz", "2.fq.gz", "fastp.json"] {
        let read = |folder: &Path| fs::read(folder.join(name)).unwrap();
        assert!(read(&one) == read(&spread), "{name} differs");
    }
}
