//! Functions and lines of source of addresses in a program's files: from the debug information, and without one from
//! the table of symbols.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;

use addr2line::Context;
use gimli::{Dwarf, EndianSlice, RunTimeEndian};
use object::{File, Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};

/// An address as the simulator's reports have it: a file, and the distance from the place at which it is loaded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    pub file: String,
    pub offset: u64,
}

/// A function, and a line in it. Either may be missing, and is empty then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    pub function: String,
    /// As the compiler has written it, such as `/u/me/app/src/lib.rs:7`.
    pub place: String,
}

/// The frames of addresses: several of one address, if functions are inlined there. The innermost is first.
pub type Frames = BTreeMap<Address, Vec<Frame>>;

/// Looks addresses up. Each file is read once.
pub fn look_up<'a>(addresses: impl Iterator<Item = &'a Address>) -> Frames {
    let mut of_files: BTreeMap<&str, Vec<&Address>> = BTreeMap::new();
    for address in addresses {
        of_files.entry(&address.file).or_default().push(address);
    }
    let mut found = Frames::new();
    for (path, addresses) in of_files {
        let Ok(bytes) = fs::read(path) else { continue };
        let Ok(file) = File::parse(&*bytes) else {
            continue;
        };
        look_up_in(&file, &addresses, &mut found);
    }
    found
}

fn look_up_in(file: &File<'_>, addresses: &[&Address], found: &mut Frames) {
    let base = file.segments().map(|segment| segment.address()).min();
    let base = base.unwrap_or(0);
    let endian = if file.is_little_endian() {
        RunTimeEndian::Little
    } else {
        RunTimeEndian::Big
    };
    let section = |id: gimli::SectionId| -> Result<Cow<'_, [u8]>, gimli::Error> {
        let named = file.section_by_name(id.name());
        let data = named.and_then(|section| section.uncompressed_data().ok());
        Ok(data.unwrap_or_default())
    };
    // A file without debug information has empty sections.
    let sections = gimli::DwarfSections::load(section);
    let context = sections.as_ref().ok().and_then(|sections| {
        let dwarf: Dwarf<EndianSlice<'_, RunTimeEndian>> =
            sections.borrow(|section| EndianSlice::new(section, endian));
        Context::from_dwarf(dwarf).ok()
    });
    for address in addresses {
        let at = base.saturating_add(address.offset);
        let symbol = symbol(file, at);
        let mut frames = context
            .as_ref()
            .map_or_else(Vec::new, |context| of_debug_information(context, at));
        // The outermost one is the function that the symbol names.
        match (frames.last_mut(), symbol) {
            (Some(last), Some(symbol)) if last.function.is_empty() => last.function = symbol,
            (None, Some(function)) => frames.push(Frame {
                function,
                place: String::new(),
            }),
            _ => {}
        }
        found.insert((*address).clone(), frames);
    }
}

fn of_debug_information(context: &Context<EndianSlice<'_, RunTimeEndian>>, at: u64) -> Vec<Frame> {
    let mut frames = vec![];
    let Ok(mut inlined) = context.find_frames(at).skip_all_loads() else {
        return frames;
    };
    while let Ok(Some(frame)) = inlined.next() {
        let function = frame.function.as_ref();
        let function = function.and_then(|function| function.raw_name().ok());
        let place = frame.location.as_ref().and_then(|location| {
            let line = location.line?;
            Some(format!("{}:{line}", location.file?))
        });
        frames.push(Frame {
            function: function.map_or_else(String::new, |name| demangled(&name)),
            place: place.unwrap_or_default(),
        });
    }
    frames
}

/// Returns the function of the table of symbols at an address.
fn symbol(file: &File<'_>, at: u64) -> Option<String> {
    let mut all = file.symbols().chain(file.dynamic_symbols());
    let found = all.find(|symbol| {
        let end = symbol.address().saturating_add(symbol.size());
        symbol.kind() == SymbolKind::Text && (symbol.address()..end).contains(&at)
    })?;
    found.name().ok().map(demangled)
}

fn demangled(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the address of a symbol of this program whose name has this part.
    #[cfg(target_os = "linux")]
    fn address(part: &str) -> Option<Address> {
        let path = std::env::current_exe().unwrap();
        let bytes = fs::read(&path).unwrap();
        let file = File::parse(&*bytes).ok()?;
        let base = file.segments().map(|segment| segment.address()).min()?;
        let mut symbols = file.symbols();
        let known = symbols.find(|symbol| symbol.name().is_ok_and(|name| name.contains(part)))?;
        Some(Address {
            file: path.to_str()?.to_owned(),
            offset: known.address() - base,
        })
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_function_of_this_program_has_its_name_and_line() {
        let address = address("a_function_of_this_program").unwrap();
        let frames = look_up([&address].into_iter());
        let frame = frames[&address].last().unwrap();
        assert!(
            frame.function.contains("a_function_of_this_program"),
            "{frame:?}"
        );
        // A profile may leave the lines out.
        let is_right = frame.place.is_empty() || frame.place.contains("symbols.rs:");
        assert!(is_right, "{frame:?}");
    }

    #[test]
    fn other_files_have_no_frames() {
        for file in ["/dev/null", "Cargo.toml", "there-is-none"] {
            let address = Address {
                file: file.to_owned(),
                offset: 1,
            };
            assert!(look_up([&address].into_iter()).is_empty(), "{file}");
        }
    }
}
