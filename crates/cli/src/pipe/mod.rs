//! `blitz pipe`: files and streams through a pipeline on all processors.

mod gzip;
mod input;
mod level;
mod output;
mod progress;
mod sha256;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread::available_parallelism;

use clap::{Args, Subcommand, ValueHint};

use crate::exit::Exit;
use level::Level;

const EXAMPLES: &str = "\
Examples:
  blitz pipe gzip -o logs.gz logs         compress a file
  tar c src | blitz pipe gzip > src.tgz   compress a stream
  blitz pipe bgzip -9 -o x.vcf.gz x.vcf   compress into blocks that tabix can find
  blitz pipe gunzip logs.gz | less        decompress either of them
  blitz pipe sha256 *.iso                 checksums, as sha256sum prints them

Several files become one output, one after the other, as with gzip -c and cat.
The output appears under its name when it is complete, in place of what was there, and with
its permissions. If an input is cut off or damaged, no file is written; standard output has
all that could be read before that.

Exit statuses:
  0    all was done; also if the reader of the output is gone
  1    a file is missing, cannot be read or written, or is damaged
  64   the arguments are wrong, or the output is one of the inputs
  130  interrupted";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
    /// The number of threads in total. The default is one for each processor.
    #[arg(short, long, global = true, value_name = "NUMBER", value_parser = threads)]
    threads: Option<NonZeroUsize>,
    /// Prints what was done as JSON on standard output. Needs --output, except for checksums.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Action {
    /// Compresses into gzip, with a member for each block.
    #[command(after_help = EXAMPLES)]
    Gzip(Compress),
    /// Compresses into BGZF: gzip in small blocks, which can be read from the middle.
    #[command(after_help = EXAMPLES)]
    Bgzip(Compress),
    /// Decompresses gzip. BGZF is decompressed by all threads, other gzip by one of them.
    #[command(after_help = EXAMPLES)]
    Gunzip(Decompress),
    /// Prints checksums; several files are read at the same time.
    #[command(after_help = EXAMPLES)]
    Sha256(Files),
}

#[derive(Args)]
struct Files {
    /// The files to read, in this order; - is standard input, as is an empty list.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
}

#[derive(Args)]
struct Compress {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    level: Level,
}

#[derive(Args)]
struct Decompress {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
struct Output {
    /// The file to write, instead of standard output.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Exit> {
    match &arguments.action {
        Action::Gzip(compress) => gzip::compress(arguments, compress, gzip::Format::Gzip),
        Action::Bgzip(compress) => gzip::compress(arguments, compress, gzip::Format::Bgzf),
        Action::Gunzip(decompress) => gzip::decompress(arguments, decompress),
        Action::Sha256(files) => sha256::run(arguments, files),
    }
}

fn threads(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse().map_err(
        |_| "it is a number from 1 on. (To test a file: blitz pipe gunzip FILE > /dev/null)",
    )
}

impl Arguments {
    fn threads(&self) -> usize {
        let threads = self.threads.or_else(|| available_parallelism().ok());
        threads.map_or(1, NonZeroUsize::get)
    }
}
