//! Names of functions in backtraces: the program's own table of symbols has those that are not exported.

use std::collections::HashMap;
use std::fs;

/// Functions of a file: start, end, name.
type Functions = Vec<(u64, u64, String)>;

/// Adds names to lines that end with `FILE+0xOFFSET`.
pub fn add_names(report: &str) -> String {
    let mut files: HashMap<String, Functions> = HashMap::new();
    let mut text = String::new();
    for line in report.lines() {
        text.push_str(line);
        let place = line.rsplit_once(' ').map_or(line, |(_, place)| place);
        if let Some((file, offset)) = place.rsplit_once("+0x") {
            let functions = files
                .entry(file.to_owned())
                .or_insert_with(|| read(file).unwrap_or_default());
            if let Some(name) = u64::from_str_radix(offset, 16)
                .ok()
                .and_then(|at| name(functions, at))
            {
                text.push(' ');
                text.push_str(&name);
            }
        }
        text.push('\n');
    }
    text
}

fn name(functions: &Functions, at: u64) -> Option<String> {
    let found = functions
        .iter()
        .find(|(start, end, _)| (*start..*end).contains(&at))?;
    Some(format!("{:#}", rustc_demangle::demangle(&found.2)))
}

/// Reads the functions of a 64-bit ELF file. `None`: it is none, or is damaged.
fn read(file: &str) -> Option<Functions> {
    const SYMBOLS: u64 = 2;
    const FUNCTION: u64 = 2;
    let bytes = fs::read(file).ok()?;
    let number = |at: u64, size: usize| -> Option<u64> {
        let at = usize::try_from(at).ok()?;
        let digits = bytes.get(at..at.checked_add(size)?)?;
        Some(
            digits
                .iter()
                .rev()
                .fold(0, |all, byte| all << 8 | u64::from(*byte)),
        )
    };
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (sections, size, count) = (number(40, 8)?, number(58, 2)?, number(60, 2)?);
    let section = |at: u64| sections.checked_add(at.checked_mul(size)?);
    let mut functions = vec![];
    for at in 0..count {
        let head = section(at)?;
        if number(head + 4, 4)? != SYMBOLS {
            continue;
        }
        let (start, length) = (number(head + 24, 8)?, number(head + 32, 8)?);
        let names = number(section(number(head + 40, 4)?)? + 24, 8)?;
        for symbol in (start..start.checked_add(length)?).step_by(24) {
            if number(symbol + 4, 1)? & 15 != FUNCTION {
                continue;
            }
            let (address, size) = (number(symbol + 8, 8)?, number(symbol + 16, 8)?);
            let name = bytes.get(usize::try_from(names + number(symbol, 4)?).ok()?..)?;
            let name = name.split(|byte| *byte == 0).next()?;
            functions.push((
                address,
                address.saturating_add(size),
                String::from_utf8_lossy(name).into_owned(),
            ));
        }
    }
    Some(functions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_this_program_has_its_name() {
        let file = std::env::current_exe().unwrap();
        let file = file.to_str().unwrap();
        let Some(functions) = read(file) else {
            return;
        };
        let known = functions
            .iter()
            .find(|(.., name)| name.contains("a_function_of_this_program"))
            .unwrap();
        let text = add_names(&format!("    {file}+{:#x}\nthread 1", known.0));
        assert!(
            text.contains("a_function_of_this_program_has_its_name"),
            "{text}"
        );
        assert!(text.ends_with("thread 1\n"));
    }

    #[test]
    fn other_files_have_no_names() {
        assert!(read("/dev/null").is_none() && read("Cargo.toml").is_none());
    }
}
