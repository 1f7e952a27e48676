//! `blitz pipe sha256`.

use std::convert::Infallible;
use std::io::{ErrorKind, Read};

use blitz_io_pipeline as pipeline;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::input::{self, Input};
use super::progress::Progress;
use super::{Arguments, Files};
use crate::exit::Exit;
use crate::output;

/// The bytes of one read.
const BLOCK: usize = 1 << 17;

/// Prints the checksum of each file, in their order. A file that cannot be read is named, and
/// the others still have their checksums, as with sha256sum.
pub fn run(arguments: &Arguments, files: &Files) -> Result<Exit, Exit> {
    let inputs = input::unchecked(files);
    let count = inputs.len();
    let progress = Progress::new(input::len(&inputs), true);
    let mut sums = Vec::new();
    let mut unreadable = 0;
    let mut printed = Ok(());
    pipeline::iter::<_, Infallible>(&inputs)
        .map_with(
            || vec![0; BLOCK],
            |block, input| Ok((input, sum(input, block, &progress))),
        )
        .for_each(|(input, sum)| match sum {
            Ok(sum) if arguments.json => sums.push(entry(input, &sum)),
            Ok(sum) if printed.is_ok() => printed = output::print(&line(input, &sum)),
            Ok(_) => {}
            Err(told) => {
                told.report();
                unreadable += 1;
            }
        })
        .workers(arguments.threads())
        .run()
        .expect("no closure fails, and nobody cancels");
    drop(progress);
    printed?;
    if arguments.json {
        output::print_json(&sums)?;
    }
    match unreadable {
        0 => Ok(Exit::Done),
        // The one error says all.
        _ if count == 1 => Err(Exit::Silent),
        1 => Err(Exit::Failed(format!("1 of {count} files has no checksum"))),
        n => Err(Exit::Failed(format!(
            "{n} of {count} files have no checksum"
        ))),
    }
}

fn sum(input: &Input, block: &mut [u8], progress: &Progress) -> Result<String, Exit> {
    let mut reader = progress.meter(input.open()?);
    let mut hasher = Sha256::new();
    loop {
        match reader.read(block) {
            Ok(0) => break,
            Ok(read) => hasher.update(&block[..read]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(input.unreadable(&error)),
        }
    }
    let digits = hasher.finalize();
    Ok(digits.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Formats a line as sha256sum does: a name with a line break or a backslash is escaped,
/// which a backslash before the line indicates.
fn line(input: &Input, sum: &str) -> String {
    let name = input.path().to_string_lossy();
    let escaped = name
        .replace('\\', "\\\\")
        .replace('\n', "\\n")
        .replace('\r', "\\r");
    let mark = if escaped == name { "" } else { "\\" };
    format!("{mark}{sum}  {escaped}\n")
}

fn entry(input: &Input, sum: &str) -> Value {
    json!({ "file": input.path().to_string_lossy(), "sha256": sum })
}
