//! Helpers that the tests share: reads as input, and runs of a program in separate folders.
#![allow(dead_code, reason = "each test program uses a part")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

pub const BLITZ: &str = env!("CARGO_BIN_EXE_blitz-fastq");
pub const ADAPTER1: &str = "AGATCGGAAGAGCACACGTCTGAACTCCAGTCA";
pub const ADAPTER2: &str = "AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGT";

/// Numbers that only look random.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn of<T: Copy>(&mut self, some: &[T]) -> T {
        some[self.below(some.len())]
    }
}

fn reverse_complement(seq: &[u8]) -> Vec<u8> {
    let complement = |&base: &u8| match base {
        b'A' => b'T',
        b'T' => b'A',
        b'C' => b'G',
        _ => b'C',
    };
    seq.iter().rev().map(complement).collect()
}

/// Makes the qualities of a read, which fall towards its end.
fn qualities(random: &mut Random, len: usize) -> Vec<u8> {
    let start = random.of(&[40, 37, 30, 22]) as f64;
    let mut quality = |place: usize| {
        let quality = start - place as f64 * 0.08 + random.below(13) as f64 - 6.0;
        quality.clamp(2.0, 41.0) as u8 + 33
    };
    (0..len).map(&mut quality).collect()
}

/// Makes `pairs` pairs of reads of all kinds: short inserts with adapters, overlaps of
/// every length, N, low quality, tails of G, lower case, and (if `odd`) empty and very
/// short reads.
pub fn pairs(seed: u64, pairs: usize, odd: bool) -> [String; 2] {
    let mut random = Random(seed);
    let genome: Vec<u8> = (0..4000).map(|_| random.of(b"ACGT")).collect();
    let mut out = [String::new(), String::new()];
    for at in 0..pairs {
        let insert = 1 + random.below(320);
        let from = random.below(genome.len() - insert);
        let mut piece = genome[from..from + insert].to_vec();
        if random.one_in(12) {
            let tail = random.below(insert);
            piece[tail..].fill(random.of(b"GGGAT"));
        }
        let whole = random.of(&[151, 151, 100, 75, 36]);
        let machine = random.below(9000);
        for (which, adapter) in [(0, ADAPTER1), (1, ADAPTER2)] {
            let mut seq = if which == 0 {
                piece.clone()
            } else {
                reverse_complement(&piece)
            };
            seq.extend_from_slice(adapter.as_bytes());
            seq.extend((0..200).map(|_| random.of(b"GGGGGGGA")));
            let mut len = if random.one_in(6) {
                random.below(whole) + 1
            } else {
                whole
            };
            if odd && random.one_in(20) {
                len = random.below(8);
            }
            seq.truncate(len);
            let qual = qualities(&mut random, len);
            for (base, qual) in seq.iter_mut().zip(&qual) {
                if random.below(1000) < if *qual < b'0' { 60 } else { 4 } {
                    *base = random.of(b"ACGTN");
                }
            }
            if odd && random.one_in(40) {
                seq.make_ascii_lowercase();
            }
            let strand = if random.one_in(30) { "+strand" } else { "+" };
            out[which] += &format!(
                "@M:1:FC:1:{}:{at}:{machine} {}:N:0:ACGTA{}+TTGA{}\n{}\n{strand}\n{}\n",
                at % 7,
                which + 1,
                ['C', 'G'][at % 2],
                ['A', 'T'][at / 2 % 2],
                String::from_utf8(seq).unwrap(),
                String::from_utf8(qual).unwrap()
            );
        }
    }
    out
}

/// The results of a run: exit code, standard output, files without the reports, and the
/// JSON report without its last line (which has the name of the program).
pub struct Ran {
    pub code: Option<i32>,
    pub stderr: String,
    pub stdout: Vec<u8>,
    pub files: BTreeMap<String, Vec<u8>>,
    pub json: String,
}

fn inflate(bytes: Vec<u8>) -> Vec<u8> {
    let mut out = vec![];
    std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(&bytes[..]), &mut out)
        .unwrap();
    out
}

/// Compresses `text` to blocked gzip, the form that `bgzip` writes.
pub fn bgzf(text: &[u8]) -> Vec<u8> {
    let mut out = vec![];
    for part in text.chunks(65_280).chain([&b""[..]]) {
        let mut block = flate2::GzBuilder::new()
            .extra([b'B', b'C', 2, 0, 0, 0])
            .write(vec![], flate2::Compression::fast());
        block.write_all(part).unwrap();
        let mut block = block.finish().unwrap();
        let size = (block.len() - 1) as u16;
        block[16..18].copy_from_slice(&size.to_le_bytes());
        out.extend(block);
    }
    out
}

pub fn command(program: &str, folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .args(arguments.split_whitespace())
        .stdin(Stdio::null());
    blitz_io_testing::limited(&mut command);
    command
}

/// Runs a program in a new folder beside the input, which `arguments` name as `../x`.
pub fn run(program: &str, folder: &Path, arguments: &str) -> Ran {
    let here = folder.join(Path::new(program).file_name().unwrap());
    let _ = fs::remove_dir_all(&here);
    fs::create_dir(&here).unwrap();
    let output = output_in_time(command(program, &here, arguments), arguments);
    ran(output, &here)
}

/// Longer than any run takes, even on a loaded machine.
const LONGEST: Duration = Duration::from_secs(900);

/// Runs to the end. Panics if it takes too long.
pub fn output_in_time(mut command: Command, what: &str) -> Output {
    let mut written = [tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap()];
    let [stdout, stderr] = [0, 1].map(|which| written[which].try_clone().unwrap());
    let mut child = command.stdout(stdout).stderr(stderr).spawn().unwrap();
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > LONGEST {
            child.kill().unwrap();
            panic!("{what} hangs");
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let [stdout, stderr] = [0, 1].map(|which| {
        let mut bytes = vec![];
        written[which].seek(SeekFrom::Start(0)).unwrap();
        written[which].read_to_end(&mut bytes).unwrap();
        bytes
    });
    Output {
        status,
        stdout,
        stderr,
    }
}

/// Returns the results of a run in `here`.
pub fn ran(output: Output, here: &Path) -> Ran {
    let mut files = BTreeMap::new();
    let mut json = String::new();
    for entry in fs::read_dir(here).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = fs::read(&path).unwrap();
        match name.as_str() {
            "fastp.html" => {}
            "fastp.json" => {
                let text = String::from_utf8(bytes).unwrap();
                text.rsplit_once("\t\"command\"")
                    .unwrap()
                    .0
                    .clone_into(&mut json);
            }
            _ if name.ends_with(".gz") => {
                files.insert(name, inflate(bytes));
            }
            _ => {
                files.insert(name, bytes);
            }
        }
    }
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Ran {
        code: output.status.code(),
        stderr,
        stdout: output.stdout,
        files,
        json,
    }
}
