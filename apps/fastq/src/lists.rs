//! Small input files: adapters in FASTA format and lists of barcodes.

use crate::failure::Failure;
use crate::file_names::path;
use std::collections::BTreeMap;

/// Fails unless `name` exists and is not a folder.
pub fn must_be_file(name: &str) -> Result<(), Failure> {
    match std::fs::metadata(path(name)) {
        Err(error) => Err(Failure::options(format!("cannot read '{name}': {error}"))),
        Ok(data) if data.is_dir() => Err(Failure::options(format!(
            "'{name}' is a folder, not a file"
        ))),
        Ok(_) => Ok(()),
    }
}

fn read(name: &str) -> Result<Vec<u8>, Failure> {
    must_be_file(name)?;
    std::fs::read(path(name))
        .map_err(|error| Failure::options(format!("cannot read '{name}': {error}")))
}

/// The shortest adapter that is taken from a FASTA file.
const SHORTEST: usize = 6;

/// Returns the sequences of a FASTA file in the order of their names. If two have the same
/// name, the last one counts. Without a file there are none.
pub fn adapters(name: &str) -> Result<Vec<Vec<u8>>, Failure> {
    if name.is_empty() {
        return Ok(vec![]);
    }
    let text = read(name)?;
    let mut named: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let mut records = text.split(|&byte| byte == b'>');
    records.next();
    for record in records {
        let mut lines = record.split(|&byte| byte == b'\n');
        let header = lines.next().unwrap_or_default();
        let id = header
            .split(|&byte| byte == b' ')
            .next()
            .unwrap_or_default();
        let wanted = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'*');
        let sequence = lines
            .flatten()
            .copied()
            .filter(wanted)
            .map(|byte| byte.to_ascii_uppercase())
            .collect();
        named.insert(id.to_vec(), sequence);
    }
    let (long, short): (Vec<_>, Vec<_>) = named
        .into_values()
        .partition(|sequence| sequence.len() >= SHORTEST);
    for sequence in short {
        let sequence = String::from_utf8_lossy(&sequence).into_owned();
        eprintln!("{name}: adapter {sequence:?} is ignored: it has less than {SHORTEST} bases");
    }
    Ok(long)
}

/// Returns the barcodes of a file, one per line. Without a file there are none.
pub fn barcodes(name: &str) -> Result<Vec<Vec<u8>>, Failure> {
    if name.is_empty() {
        return Ok(vec![]);
    }
    let text = read(name)?;
    let mut list = vec![];
    for (at, line) in text.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !line.iter().all(|base| b"ATCG".contains(base)) {
            return Err(Failure::options(format!(
                "{name}, line {}: a barcode may have A, T, C and G only",
                at + 1
            )));
        }
        list.push(line.to_vec());
    }
    Ok(list)
}
