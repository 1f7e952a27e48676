//! Read names: unique molecular identifiers, index barcodes, MGI's form.

use crate::options::{Umi, UmiPlace};
use crate::record::Read4;

/// Returns the barcode of index 1 in a read name.
pub fn first_index(name: &[u8]) -> &[u8] {
    let len = name.len();
    if len < 5 {
        return b"";
    }
    let mut end = len;
    for at in (0..len - 2).rev() {
        match name[at] {
            b'+' => end = at,
            b':' => return &name[at + 1..end.max(at + 1)],
            _ => {}
        }
    }
    b""
}

/// Returns the barcode of index 2 in a read name.
pub fn last_index(name: &[u8]) -> &[u8] {
    let len = name.len();
    if len < 5 {
        return b"";
    }
    match name[..len - 2]
        .iter()
        .rposition(|byte| matches!(byte, b':' | b'+'))
    {
        Some(at) => &name[at + 1..],
        None => b"",
    }
}

/// Returns `true` if one of `barcodes` equals the index of a name, except for `threshold` differences.
/// Only as many bases as both have are compared, so an empty index equals every barcode.
#[inline]
pub fn listed<'a>(
    barcodes: &[Vec<u8>],
    index: impl FnOnce(&'a [u8]) -> &'a [u8],
    name: &'a [u8],
    threshold: i64,
) -> bool {
    if barcodes.is_empty() {
        return false;
    }
    let index = index(name);
    barcodes.iter().any(|barcode| {
        let differences = barcode.iter().zip(index).filter(|(a, b)| a != b).count();
        differences as i64 <= threshold
    })
}

/// Returns the name with a space before its `/1` or `/2`.
pub fn fix_mgi<'a>(name: &'a [u8], out: &'a mut Vec<u8>) -> &'a [u8] {
    let Some((head, tail)) = name.split_last_chunk::<2>() else {
        return name;
    };
    if !matches!(tail, b"/1" | b"/2") {
        return name;
    }
    out.clear();
    out.extend_from_slice(head);
    out.push(b' ');
    out.extend_from_slice(tail);
    out
}

fn trim_front(read: &mut Read4<'_>, len: usize) {
    if read.len() > 0 {
        read.slice(len.min(read.len() - 1), usize::MAX / 2);
    }
}

/// Takes the UMI of a pair off its reads and returns it; it is empty if there is none.
pub fn take(umi: &Umi, read1: &mut Read4<'_>, read2: Option<&mut Read4<'_>>) -> Vec<u8> {
    fn of_read<'a>(umi: &Umi, read: &mut Read4<'a>) -> &'a [u8] {
        let found = &read.seq[..read.len().min(umi.length)];
        trim_front(read, found.len() + umi.skip);
        found
    }
    match (umi.place, read2) {
        (UmiPlace::Index1, _) => first_index(read1.name).to_vec(),
        (UmiPlace::Index2, Some(read2)) => last_index(read2.name).to_vec(),
        (UmiPlace::Read1, _) => of_read(umi, read1).to_vec(),
        (UmiPlace::Read2, Some(read2)) => of_read(umi, read2).to_vec(),
        (UmiPlace::PerIndex, None) => first_index(read1.name).to_vec(),
        (UmiPlace::PerIndex, Some(read2)) => {
            [first_index(read1.name), last_index(read2.name)].join(&b'_')
        }
        (UmiPlace::PerRead, None) => of_read(umi, read1).to_vec(),
        (UmiPlace::PerRead, Some(read2)) => [of_read(umi, read1), of_read(umi, read2)].join(&b'_'),
        (UmiPlace::Index2 | UmiPlace::Read2, None) => vec![],
    }
}

/// Returns `true` if a name is changed even if the UMI is empty.
pub fn always(umi: &Umi) -> bool {
    matches!(umi.place, UmiPlace::PerIndex | UmiPlace::PerRead)
}

/// Returns the name with the UMI before its first space.
pub fn add<'a>(umi: &Umi, found: &[u8], name: &[u8], out: &'a mut Vec<u8>) -> &'a [u8] {
    let space = name
        .iter()
        .position(|&byte| byte == b' ')
        .unwrap_or(name.len());
    out.clear();
    out.extend_from_slice(&name[..space]);
    out.extend_from_slice(umi.delimiter.as_bytes());
    if !umi.prefix.is_empty() {
        out.extend_from_slice(umi.prefix.as_bytes());
        out.push(b'_');
    }
    out.extend_from_slice(found);
    out.extend_from_slice(&name[space..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_at_the_end_of_the_name() {
        let name = b"@NS:64:HF:1:1 1:N:0:TATAGCCT+GGTCCCGA";
        assert_eq!(first_index(name), b"TATAGCCT");
        assert_eq!(last_index(name), b"GGTCCCGA");
        assert_eq!(first_index(b"@x 1:N:0:ACGT"), b"ACGT");
        assert_eq!(
            (first_index(b"@x"), last_index(b"@plain")),
            (&b""[..], &b""[..])
        );
    }

    #[test]
    fn names_change_before_the_space() {
        let umi = Umi {
            place: UmiPlace::Read1,
            length: 4,
            prefix: "U".to_owned(),
            delimiter: "_".to_owned(),
            skip: 1,
        };
        let mut read = Read4 {
            name: b"@a 1",
            seq: b"ACGTACGT",
            strand: b"+",
            qual: b"IIIIIIII",
        };
        let found = take(&umi, &mut read, None);
        assert_eq!((&found[..], read.seq), (&b"ACGT"[..], &b"CGT"[..]));
        assert_eq!(add(&umi, &found, read.name, &mut vec![]), b"@a_U_ACGT 1");
        assert_eq!(fix_mgi(b"@V3/1", &mut vec![]), b"@V3 /1");
        assert_eq!(fix_mgi(b"1", &mut vec![]), b"1");
    }
}
