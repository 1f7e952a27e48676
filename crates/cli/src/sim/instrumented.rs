//! `--atomics`: how a program is compiled whose atomic operations are points.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use blitz_io_sim::write_library;
use serde::Deserialize;

use super::{AtomicsArguments, failed};
use crate::exit::Exit;
use crate::output;

const SYSTEM: &str = "x86_64-unknown-linux-gnu";
/// The folder for instrumented builds, below that of Cargo.
const FOLDER: &str = "atomics";

/// The part of `cargo metadata` that is needed.
#[derive(Deserialize)]
struct Metadata {
    target_directory: PathBuf,
}

/// Returns the compiler's flags for a program in Rust.
fn flags(library: &Path) -> Result<[String; 5], Exit> {
    let (Some(file), Some(folder)) = (library.to_str(), library.parent().and_then(Path::to_str))
    else {
        return Err(Exit::Failed(format!(
            "{}: the compiler's flags need a path in UTF-8",
            library.display()
        )));
    };
    Ok([
        "-Zsanitizer=thread".to_owned(),
        // Not the sanitizer's own library.
        "-Zexternal-clangrt".to_owned(),
        // The instrumentation leaves out `fetch_min` and `fetch_max`. So these become loops of compare-exchange, and
        // then it comes once more.
        "-Cpasses=atomic-expand,tsan".to_owned(),
        format!("-Clink-arg={file}"),
        format!("-Clink-arg=-Wl,-rpath,{folder}"),
    ])
}

/// Adds to `cargo test` what lets it compile with the instrumentation, std too, in a folder of its own.
///
/// `program`, `toolchain` and `words` are Cargo, the toolchain that the user names, and the arguments of `test`.
pub fn compile(
    cargo: &mut Command,
    program: &OsStr,
    toolchain: Option<&OsString>,
    words: &[OsString],
) -> Result<(), Exit> {
    let folder = target_folder(program, toolchain, words)?.join(FOLDER);
    let library = write_library(&folder).map_err(|error| unwritten(&folder, &error))?;
    // Both variables replace the flags of Cargo's configuration, so those of the user come first.
    let mut all: Vec<String> = match (env::var("CARGO_ENCODED_RUSTFLAGS"), env::var("RUSTFLAGS")) {
        (Ok(flags), _) => flags.split('\x1f').map(str::to_owned).collect(),
        (_, Ok(flags)) => flags.split_whitespace().map(str::to_owned).collect(),
        _ => vec![],
    };
    all.retain(|flag| !flag.is_empty());
    all.extend(flags(&library)?);
    cargo
        .args(["-Zbuild-std", "--target", SYSTEM, "--target-dir"])
        .arg(&folder)
        .env("CARGO_ENCODED_RUSTFLAGS", all.join("\x1f"))
        // A stable compiler has these options, too.
        .env("RUSTC_BOOTSTRAP", "1");
    Ok(())
}

/// Asks Cargo for the folder in which it builds.
fn target_folder(
    program: &OsStr,
    toolchain: Option<&OsString>,
    words: &[OsString],
) -> Result<PathBuf, Exit> {
    const MANIFEST: &str = "--manifest-path";
    let mut cargo = Command::new(program);
    cargo.args(toolchain);
    cargo.args(["metadata", "--format-version=1", "--no-deps"]);
    for (at, word) in words.iter().enumerate() {
        if word == MANIFEST {
            cargo.arg(word).args(words.get(at + 1));
        } else if word.to_string_lossy().starts_with("--manifest-path=") {
            cargo.arg(word);
        }
    }
    let answer = cargo
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Exit::Failed(format!("cargo cannot be started: {error}")))?;
    let parsed = serde_json::from_slice::<Metadata>(&answer.stdout);
    parsed
        .map(|metadata| metadata.target_directory)
        .map_err(|_| Exit::Failed("cargo could not say in which folder it builds".to_owned()))
}

/// Returns the exit for a library that could not be written into this folder.
fn unwritten(folder: &Path, error: &io::Error) -> Exit {
    match error.kind() {
        // This program has none.
        ErrorKind::Unsupported => failed(error),
        _ => Exit::unwritable(folder, error),
    }
}

/// `blitz sim atomics`: writes the library, and prints how programs are compiled with it.
pub fn prepare(arguments: &AtomicsArguments) -> Result<Exit, Exit> {
    let folder = std::path::absolute(&arguments.folder).map_err(failed)?;
    let library = write_library(&folder).map_err(|error| unwritten(&folder, &error))?;
    let flags = flags(&library)?.join(" ");
    let (file, folder) = (
        library.display(),
        library.parent().unwrap_or(&library).display(),
    );
    output::print(&format!(
        "\
{file} is written. A program that is compiled as follows can be simulated with --atomics.

Rust, with a compiler that has the sources of std (rustup component add rust-src):
  RUSTC_BOOTSTRAP=1 RUSTFLAGS=\"{flags}\" cargo build -Zbuild-std --target {SYSTEM}

C and C++, where only the compiler has the option of the sanitizer:
  cc -fsanitize=thread -c FILE.c
  cc FILE.o {file} -Wl,-rpath,{folder} -pthread
"
    ))?;
    Ok(Exit::Done)
}
