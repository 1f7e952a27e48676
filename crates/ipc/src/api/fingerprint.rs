//! Fingerprints of plain types: a receiver learns that a value was sent as another type of the
//! same length.
//!
//! A fingerprint is a hash (FNV-1a) of a type's declaration. The word of a message's length has
//! room for 21 bits of it (`mark.rs`). So of two million pairs of different types of one length,
//! one is not noticed.

/// The fingerprint of a [`PlainData`](crate::PlainData) type: its name, and the names and types
/// of its fields.
///
/// ```
/// use blitz_io::ipc::{Fingerprint, PlainData, plain_data};
///
/// plain_data! {
///     struct Price { cents: u64 }
/// }
/// let fields = [("cents", u64::FINGERPRINT)];
/// assert_eq!(Price::FINGERPRINT, Fingerprint::of_struct("Price", &fields));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fingerprint(u64);

/// The end of a word. No text in UTF-8 has this byte.
const END: u8 = 0xff;
const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

impl Fingerprint {
    /// The type is not known: it is taken for every type of the same length.
    pub const UNKNOWN: Self = Self(0);

    /// The number of bits of [`bits`](Self::bits).
    pub(crate) const BITS: u32 = 21;

    /// Returns the fingerprint of a type without parts.
    pub const fn of_primitive(name: &str) -> Self {
        Self::of(hash(EMPTY, name.as_bytes()))
    }

    /// Returns the fingerprint of an array. It is unknown if that of its elements is.
    pub const fn of_array(element: Self, len: usize) -> Self {
        if element.is_unknown() {
            return Self::UNKNOWN;
        }
        let of_element = hash(hash(EMPTY, b"[]"), &element.0.to_le_bytes());
        Self::of(hash(of_element, &(len as u64).to_le_bytes()))
    }

    /// Returns the fingerprint of a struct with these fields. It is unknown if that of a field
    /// is.
    pub const fn of_struct(name: &str, fields: &[(&str, Self)]) -> Self {
        let mut value = hash(hash(EMPTY, b"struct"), name.as_bytes());
        let mut index = 0;
        while index < fields.len() {
            let (field, of) = fields[index];
            if of.is_unknown() {
                return Self::UNKNOWN;
            }
            value = hash(hash(value, field.as_bytes()), &of.0.to_le_bytes());
            index += 1;
        }
        Self::of(value)
    }

    const fn of(hash: u64) -> Self {
        // 0 means unknown.
        Self(if hash == 0 { 1 } else { hash })
    }

    const fn is_unknown(self) -> bool {
        self.0 == 0
    }

    /// Returns the bits that a message has, which are 0 only if the type is unknown.
    #[inline]
    pub(crate) const fn bits(self) -> u32 {
        if self.is_unknown() {
            return 0;
        }
        1 + (self.0 % ((1 << Self::BITS) - 1)) as u32
    }

    /// Returns `true` if a message with these bits may be a value of this type.
    #[inline]
    pub(crate) const fn matches(self, bits: u32) -> bool {
        bits == 0 || self.is_unknown() || bits == self.bits()
    }
}

/// Continues a hash with one more word.
const fn hash(mut value: u64, word: &[u8]) -> u64 {
    let mut index = 0;
    while index < word.len() {
        value = add(value, word[index]);
        index += 1;
    }
    add(value, END)
}

const fn add(value: u64, byte: u8) -> u64 {
    (value ^ byte as u64).wrapping_mul(0x0100_0000_01b3)
}

#[cfg(test)]
mod tests {
    use super::Fingerprint;

    #[test]
    fn bits_are_zero_only_if_the_type_is_unknown() {
        assert_eq!(Fingerprint::UNKNOWN.bits(), 0);
        let most = (1 << Fingerprint::BITS) - 1;
        for hash in [1, most - 1, most, most + 1, u64::MAX] {
            let bits = Fingerprint(hash).bits();
            assert!(0 < bits && u64::from(bits) <= most, "{hash}: {bits}");
        }
    }

    #[test]
    fn names_do_not_run_into_each_other() {
        let byte = Fingerprint::of_primitive("u8");
        let ab_c = Fingerprint::of_struct("ab", &[("c", byte)]);
        assert_ne!(ab_c, Fingerprint::of_struct("a", &[("bc", byte)]));
        let rows = Fingerprint::of_array(Fingerprint::of_array(byte, 2), 3);
        assert_ne!(
            rows,
            Fingerprint::of_array(Fingerprint::of_array(byte, 3), 2)
        );
    }
}
