//! The program; see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    blitz_io_fastq::main()
}
