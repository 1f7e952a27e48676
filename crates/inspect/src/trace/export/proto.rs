//! `Message`: writes Protocol Buffers, whose messages are pairs of a field and a value. Two formats need so few of its
//! parts that a code generator would be the larger dependency.

/// Kinds of values on the wire.
const VARINT: u64 = 0;
const FIXED: u64 = 1;
const BYTES: u64 = 2;

/// A message that is being written.
#[derive(Default)]
pub(super) struct Message(pub(super) Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 1 << 7 {
            self.0.push(value as u8 | 1 << 7);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn key(&mut self, field: u64, kind: u64) {
        self.varint(field << 3 | kind);
    }

    /// Adds an integer, which is not negative.
    pub(super) fn number(&mut self, field: u64, value: u64) -> &mut Self {
        self.key(field, VARINT);
        self.varint(value);
        self
    }

    /// Adds an integer of eight bytes.
    pub(super) fn fixed(&mut self, field: u64, value: u64) -> &mut Self {
        self.key(field, FIXED);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Adds a string.
    pub(super) fn text(&mut self, field: u64, text: &str) -> &mut Self {
        self.bytes(field, text.as_bytes())
    }

    /// Adds a message.
    pub(super) fn message(&mut self, field: u64, message: &Self) -> &mut Self {
        self.bytes(field, &message.0)
    }

    /// Adds integers in the packed form.
    pub(super) fn numbers(&mut self, field: u64, values: &[u64]) -> &mut Self {
        let mut packed = Self::default();
        values.iter().for_each(|value| packed.varint(*value));
        self.message(field, &packed)
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) -> &mut Self {
        self.key(field, BYTES);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the format's specification.
    #[test]
    fn bytes_are_those_of_the_specification() {
        let mut message = Message::default();
        assert_eq!(message.number(1, 150).0, [0x08, 0x96, 0x01]);
        let mut message = Message::default();
        let expected = [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67];
        assert_eq!(message.text(2, "testing").0, expected);
        let mut outer = Message::default();
        let mut inner = Message::default();
        outer.message(3, inner.number(1, 150));
        assert_eq!(outer.0, [0x1a, 0x03, 0x08, 0x96, 0x01]);
        let mut message = Message::default();
        let expected = [0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05];
        assert_eq!(message.numbers(6, &[3, 270, 86942]).0, expected);
        let mut message = Message::default();
        assert_eq!(message.fixed(1, 7).0, [0x09, 7, 0, 0, 0, 0, 0, 0, 0]);
    }
}
