//! Words of memory that several mappings show.
//!
//! A futex without the flag "private" is the same one wherever its memory is mapped: a program that opens a
//! segment twice has it at two addresses. Such a word stands for its place in the file. The place gets a number
//! when it is used first, because the numbers of files are not the same in each run.

use crate::c::nr;
use crate::state::sim;
use crate::sys;

/// A byte of a file: device, number of the file, offset.
pub type Place = (u64, u64, u64);

/// Returns what stands for a word that may be shared. Words of the program have addresses that are a
/// multiple of four, and places have odd numbers.
pub unsafe fn key_of(word: usize) -> usize {
    let Some(place) = place_of(word) else {
        return word;
    };
    let places = &mut sim().places;
    let next = 2 * places.len() + 1;
    *places.entry(place).or_insert(next)
}

/// Returns the byte of a file that a shared mapping shows at an address.
unsafe fn place_of(address: usize) -> Option<Place> {
    let table = read()?;
    let mut lines = table.split(|byte| *byte == b'\n').filter_map(parse);
    let (start, _, place) = lines.find(|(start, end, _)| (*start..*end).contains(&address))?;
    let (device, file, offset) = place?;
    Some((device, file, offset + (address - start) as u64))
}

/// Reads the kernel's table of this process's mappings.
unsafe fn read() -> Option<Vec<u8>> {
    const HERE: usize = -100isize as usize;
    const CLOEXEC: usize = 0o2_000_000;
    let path = c"/proc/self/maps".as_ptr() as usize;
    let fd = sys::call(nr::OPENAT, [HERE, path, CLOEXEC, 0, 0, 0]);
    if fd < 0 {
        return None;
    }
    let mut table = vec![];
    loop {
        let length = table.len();
        table.resize(length + (1 << 14), 0);
        let to = table.as_mut_ptr().add(length) as usize;
        let got = sys::call(nr::READ, [fd as usize, to, 1 << 14, 0, 0, 0]);
        table.truncate(length + got.max(0) as usize);
        if got <= 0 {
            break;
        }
    }
    sys::call(nr::CLOSE, [fd as usize, 0, 0, 0, 0, 0]);
    Some(table)
}

/// Parses `start-end permissions offset device file …`. The place is that of a shared mapping of a file.
fn parse(line: &[u8]) -> Option<(usize, usize, Option<Place>)> {
    let mut words = core::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let (permissions, offset, device, file) =
        (words.next()?, words.next()?, words.next()?, words.next()?);
    let hexadecimal = |text| u64::from_str_radix(text, 16).ok();
    let (major, minor) = device.split_once(':')?;
    let device = hexadecimal(major)? << 32 | hexadecimal(minor)?;
    let file: u64 = file.parse().ok()?;
    let is_shared = permissions.ends_with('s') && file != 0;
    let place = is_shared.then_some((device, file, hexadecimal(offset)?));
    Some((
        hexadecimal(start)? as usize,
        hexadecimal(end)? as usize,
        place,
    ))
}
