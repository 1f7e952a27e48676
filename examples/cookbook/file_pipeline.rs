//! Reads a file in blocks, works on them in parallel, and writes the results in order.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};

use blitz_io::pipeline;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let (from, to) = (folder.path().join("in"), folder.path().join("out"));
    let lines: String = (0..50_000)
        .map(|number| format!("line {number}\n"))
        .collect();
    std::fs::write(&from, &lines)?;

    let mut input = BufReader::new(File::open(&from)?);
    let mut output = BufWriter::new(File::create(&to)?);
    pipeline::source(|| {
        // Some thousand lines at once: a block should take tens of microseconds at least.
        let mut block = String::new();
        while block.len() < 1 << 16 && input.read_line(&mut block)? > 0 {}
        Ok::<_, io::Error>((!block.is_empty()).then_some(block))
    })
    .map(|block| block.to_uppercase())
    .sink(|block| output.write_all(block.as_bytes()))
    .workers(4)
    .run()?;
    output.flush()?;
    drop(output);

    let written = std::fs::read_to_string(&to)?;
    println!("{} lines in their order", written.lines().count());
    assert_eq!(written, lines.to_uppercase());
    Ok(())
}
