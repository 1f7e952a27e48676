//! Checks that the names of two reads are those of a pair.

/// Returns the part before the first space or tab.
fn id(name: &[u8]) -> &[u8] {
    let end = memchr::memchr2(b' ', b'\t', name).unwrap_or(name.len());
    &name[..end]
}

/// Returns `true` if the reads can belong to one pair. Up to the first space their names are
/// the same, except for one character. It can be at any position, and distinguishes read 1
/// from read 2 (or 3, if an index is read 2).
pub fn of_one_pair(name1: &[u8], name2: &[u8]) -> bool {
    let (id1, id2) = (id(name1), id(name2));
    if id1 == id2 {
        return true;
    }
    // Most often the last character differs.
    if let (Some((a, head1)), Some((b, head2))) = (id1.split_last(), id2.split_last())
        && head1 == head2
    {
        return matches!((a, b), (b'1', b'2' | b'3'));
    }
    let mut differ = id1.iter().zip(id2).filter(|(a, b)| a != b);
    let first = differ.next();
    id1.len() == id2.len() && matches!(first, Some((b'1', b'2' | b'3'))) && differ.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::of_one_pair;

    #[test]
    fn pairs_are_told_from_strangers() {
        for (name1, name2) in [
            ("@a:1 1:N:0:ACGT", "@a:1 2:N:0:ACGT"),
            ("@a/1", "@a/2"),
            ("@a/1", "@a/3"),
            ("@SRR1.7.1 length=100", "@SRR1.7.2 length=98"),
            ("@a_1:N:0:ACGT", "@a_2:N:0:ACGT"),
            ("@same\tx", "@same y"),
            ("@", "@"),
        ] {
            assert!(of_one_pair(name1.as_bytes(), name2.as_bytes()), "{name1}");
        }
        for (name1, name2) in [
            ("@a", "@b"),
            ("@a/2", "@a/1"),
            ("@a11", "@a22"),
            ("@a1", "@a"),
            ("@a/1", "@a/2x"),
        ] {
            assert!(!of_one_pair(name1.as_bytes(), name2.as_bytes()), "{name1}");
        }
    }
}
