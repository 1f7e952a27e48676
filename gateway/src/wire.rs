//! The bytes between gateways.
//!
//! All numbers are little-endian. Each frame begins with 8 bytes: the magic number, the version
//! and the type. Frames of messages go on with a [`Head`], and then:
//!
//! * *Batch:* items, each `skip: u32, lost: u32, len: u32` and `len` bytes. A batch without items
//!   announces the next ordinal of the sender.
//! * *Piece:* `skip: u32, lost: u32, total: u64, offset: u64`, and the bytes of one message from
//!   `offset` on.
//!
//! An *ordinal* counts the messages that one run of a gateway has read from one segment; a
//! *position* is the message's in its segment, and stays the same when the gateway starts again.
//! `skip` positions before a message never had one; `lost` messages before it were overwritten
//! before the gateway could read them, and have ordinals.
//!
//! The other frames are of fixed length: [`Ack`], [`Done`] and [`Credit`]; a [`Job`] ends with
//! the bytes of its message.
//!
//! [`parse`] checks every length before it reads, and copies nothing.

use std::fmt;

const MAGIC: [u8; 4] = *b"blzg";
const VERSION: u8 = 3;
const PREFIX: usize = 8;
const HEAD_LEN: usize = 9 * 8;
const ITEM_LEN: usize = 3 * 4;
/// The longest batch. The engine sends at most 65,535 bytes at once, which leaves room for its own header
/// and a key.
pub const FRAME: usize = 63 << 10;
/// The longest message of a batch. A longer one is sent in pieces: in simulations, a short one, too.
pub const BATCHED: usize = if cfg!(feature = "sim") {
    64
} else {
    FRAME - PREFIX - HEAD_LEN - ITEM_LEN
};
/// The most bytes of a message in one piece. The engine cuts a piece into fragments without another
/// copy of it at either end, and calls the receiver once for all of them.
pub const PIECE: usize = if cfg!(feature = "sim") { 80 } else { 1 << 20 };
const PIECE_LEN: usize = 2 * 4 + 2 * 8;
/// The number of bytes of a piece before those of the message.
pub const PIECE_HEAD: usize = PREFIX + HEAD_LEN + PIECE_LEN;
/// Ordinals, positions and lengths are smaller than this, so that sums do not overflow.
pub const LIMIT: u64 = 1 << 60;

/// The fields that all frames of messages have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Head {
    /// The number of the sending host: see [`origin`].
    pub origin: u64,
    /// The number of the segment from which the messages come.
    pub epoch: u64,
    /// The number of the run of the sending gateway, for this segment: see `runs.rs`.
    pub run: u128,
    /// The number of rounds that the run had begun when it made this frame: see `window.rs`.
    pub round: u64,
    /// The sender can send no ordinal before this one any more.
    pub base: u64,
    /// The position that belongs to `base`.
    pub base_position: u64,
    /// The ordinal of the first message, or of the first lost one before it.
    pub ordinal: u64,
    /// The position after the message before the first one.
    pub position: u64,
}

/// One message of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Item<'a> {
    /// The number of positions before it that have no message.
    pub skip: u32,
    /// The number of messages before it that the sending gateway could not read.
    pub lost: u32,
    /// The message.
    pub bytes: &'a [u8],
}

/// The items of a batch, which were checked when the frame was parsed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Items<'a>(&'a [u8]);

impl Items<'_> {
    /// Returns the number of items before the first one that has a missing message before it.
    pub fn consecutive(self) -> u64 {
        self.take_while(|item| (item.skip, item.lost) == (0, 0))
            .count() as u64
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Item<'a>> {
        let (item, rest) = split_item(self.0).ok()??;
        self.0 = rest;
        Some(item)
    }
}

/// A part of a large message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece<'a> {
    /// See [`Item::skip`].
    pub skip: u32,
    /// See [`Item::lost`].
    pub lost: u32,
    /// The length of the whole message.
    pub total: u64,
    /// The offset of these bytes in the message.
    pub offset: u64,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// The acknowledgement of a receiving gateway.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ack {
    /// The segment and the run of the sender that the receiver knows; 0 if it knows none.
    pub epoch: u64,
    /// See `epoch`.
    pub run: u128,
    /// The number of the run of the receiver: see `runs.rs`.
    pub source: u128,
    /// The highest [`Head::round`] of this run that the receiver has seen.
    pub round: u64,
    /// The receiver has all messages, or has reported them as missing, before this ordinal.
    pub expected: u64,
    /// The number of messages that it has delivered since it began to receive from this host.
    pub received: u64,
    /// The number of messages that it has reported as missing.
    pub missing: u64,
    /// The receiver needs all frames from `expected` on again.
    pub resend: bool,
}

/// An item of a queue for one receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Job<'a> {
    /// The item's identity.
    pub id: JobId,
    /// The item.
    pub bytes: &'a [u8],
}

/// Identifies an item of a queue for ever.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct JobId {
    /// The number of the host where it was put into the queue: see [`origin`].
    pub origin: u64,
    /// The number of the segment there.
    pub epoch: u64,
    /// Its position in the segment.
    pub position: u64,
}

impl JobId {
    /// The length of the identity before an item, in bytes: see the setting `identity`.
    pub const LEN: usize = 24;

    /// Returns the identity as bytes.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        for (chunk, word) in bytes
            .chunks_mut(8)
            .zip([self.origin, self.epoch, self.position])
        {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Splits the identity from the item behind it. Returns `None` if there is none.
    pub fn split(message: &[u8]) -> Option<(Self, &[u8])> {
        let mut reader = Reader(message);
        let id = reader.job_id().ok()?;
        Some((id, reader.0))
    }
}

/// The report that a consumer is done with an item of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Done(pub JobId);

/// The room of a receiver for items of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Credit {
    /// The number of this run of the receiver, which has forgotten the items of earlier runs.
    pub run: u64,
    /// The number of items.
    pub items: u32,
}

/// One frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame<'a> {
    /// Whole messages.
    Batch(Head, Items<'a>),
    /// A part of a message.
    Piece(Head, Piece<'a>),
    /// An acknowledgement.
    Ack(Ack),
    /// An item of a queue.
    Job(Job<'a>),
    /// The report that an item of a queue was consumed.
    Done(Done),
    /// Room for items of a queue.
    Credit(Credit),
}

/// The reason why bytes are not a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// It does not begin with the magic number.
    Magic,
    /// It has this version.
    Version(u8),
    /// It has this type.
    Type(u8),
    /// It ends too early.
    Short,
    /// It has more bytes than its type allows.
    Long,
    /// A number is larger than it can be.
    Range,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic => f.write_str("it does not begin with the magic number"),
            Self::Version(found) => {
                write!(f, "it has version {found}, and this is version {VERSION}")
            }
            Self::Type(found) => write!(f, "its type {found} is unknown"),
            Self::Short => f.write_str("it ends too early"),
            Self::Long => f.write_str("it has too many bytes"),
            Self::Range => f.write_str("a number is out of its range"),
        }
    }
}

impl std::error::Error for Malformed {}

/// Returns the number of a host: FNV-1a of its name, never 0.
pub fn origin(host: &str) -> u64 {
    fnv(host.as_bytes()).max(1)
}

/// Computes FNV-1a.
pub fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Parses a frame.
///
/// # Errors
///
/// [`Malformed`] if the bytes do not follow the format that this module documents.
pub fn parse(bytes: &[u8]) -> Result<Frame<'_>, Malformed> {
    let (prefix, body) = bytes.split_at_checked(PREFIX).ok_or(Malformed::Short)?;
    if prefix[..4] != MAGIC {
        return Err(Malformed::Magic);
    }
    if prefix[4] != VERSION {
        return Err(Malformed::Version(prefix[4]));
    }
    let mut reader = Reader(body);
    let frame = match prefix[5] {
        1 => return parse_batch(reader),
        2 => return parse_piece(reader),
        3 => Frame::Ack(Ack {
            epoch: reader.u64()?,
            run: reader.u128()?,
            source: reader.u128()?,
            round: reader.u64()?,
            expected: reader.number()?,
            received: reader.number()?,
            missing: reader.number()?,
            resend: reader.u64()? != 0,
        }),
        4 => {
            let id = reader.job_id()?;
            return Ok(Frame::Job(Job {
                id,
                bytes: reader.0,
            }));
        }
        5 => Frame::Done(Done(reader.job_id()?)),
        6 => Frame::Credit(Credit {
            run: reader.u64()?,
            items: u32::try_from(reader.u64()?).map_err(|_| Malformed::Range)?,
        }),
        other => return Err(Malformed::Type(other)),
    };
    if reader.0.is_empty() {
        Ok(frame)
    } else {
        Err(Malformed::Long)
    }
}

fn parse_batch(mut reader: Reader<'_>) -> Result<Frame<'_>, Malformed> {
    let head = reader.head()?;
    let mut rest = reader.0;
    while let Some((_, after)) = split_item(rest)? {
        rest = after;
    }
    Ok(Frame::Batch(head, Items(reader.0)))
}

fn parse_piece(mut reader: Reader<'_>) -> Result<Frame<'_>, Malformed> {
    let head = reader.head()?;
    let piece = Piece {
        skip: reader.u32()?,
        lost: reader.u32()?,
        total: reader.number()?,
        offset: reader.number()?,
        bytes: reader.0,
    };
    let end = piece.offset + piece.bytes.len() as u64;
    if piece.bytes.is_empty() || end > piece.total {
        return Err(Malformed::Range);
    }
    Ok(Frame::Piece(head, piece))
}

/// Splits the first item off. Returns `None` at the end.
fn split_item(bytes: &[u8]) -> Result<Option<(Item<'_>, &[u8])>, Malformed> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut reader = Reader(bytes);
    let (skip, lost, len) = (reader.u32()?, reader.u32()?, reader.u32()?);
    let (bytes, rest) = reader
        .0
        .split_at_checked(len as usize)
        .ok_or(Malformed::Short)?;
    Ok(Some((Item { skip, lost, bytes }, rest)))
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn u32(&mut self) -> Result<u32, Malformed> {
        let (word, rest) = self.0.split_first_chunk().ok_or(Malformed::Short)?;
        self.0 = rest;
        Ok(u32::from_le_bytes(*word))
    }

    fn u64(&mut self) -> Result<u64, Malformed> {
        let (word, rest) = self.0.split_first_chunk().ok_or(Malformed::Short)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*word))
    }

    fn u128(&mut self) -> Result<u128, Malformed> {
        let (word, rest) = self.0.split_first_chunk().ok_or(Malformed::Short)?;
        self.0 = rest;
        Ok(u128::from_le_bytes(*word))
    }

    /// Reads a number below [`LIMIT`], so that sums with it do not overflow.
    fn number(&mut self) -> Result<u64, Malformed> {
        let number = self.u64()?;
        if number < LIMIT {
            Ok(number)
        } else {
            Err(Malformed::Range)
        }
    }

    fn job_id(&mut self) -> Result<JobId, Malformed> {
        Ok(JobId {
            origin: self.u64()?,
            epoch: self.u64()?,
            position: self.number()?,
        })
    }

    fn head(&mut self) -> Result<Head, Malformed> {
        let head = Head {
            origin: self.u64()?,
            epoch: self.u64()?,
            run: self.u128()?,
            round: self.u64()?,
            base: self.number()?,
            base_position: self.number()?,
            ordinal: self.number()?,
            position: self.number()?,
        };
        if head.base > head.ordinal || head.base_position > head.position {
            return Err(Malformed::Range);
        }
        Ok(head)
    }
}

/// Returns the lower and the higher half.
fn halves(number: u128) -> [u64; 2] {
    [number as u64, (number >> 64) as u64]
}

/// Writes frames.
pub struct Writer(Vec<u8>);

impl Writer {
    fn new(kind: u8, capacity: usize) -> Self {
        let mut bytes = Vec::with_capacity(PREFIX + capacity);
        bytes.extend(MAGIC);
        bytes.extend([VERSION, kind, 0, 0]);
        Self(bytes)
    }

    fn words(mut self, words: &[u64]) -> Self {
        for word in words {
            self.0.extend(word.to_le_bytes());
        }
        self
    }

    fn with_head(kind: u8, head: &Head, capacity: usize) -> Self {
        let [low, high] = halves(head.run);
        Self::new(kind, HEAD_LEN + capacity).words(&[
            head.origin,
            head.epoch,
            low,
            high,
            head.round,
            head.base,
            head.base_position,
            head.ordinal,
            head.position,
        ])
    }

    /// Begins a batch, with memory for a whole [`FRAME`].
    pub fn batch(head: &Head) -> Self {
        Self::with_head(1, head, FRAME - PREFIX - HEAD_LEN)
    }

    /// Adds a message to a batch. It is shorter than 2^32 bytes.
    pub fn item(&mut self, item: Item<'_>) {
        for word in [item.skip, item.lost, item.bytes.len() as u32] {
            self.0.extend(word.to_le_bytes());
        }
        self.0.extend_from_slice(item.bytes);
    }

    /// Returns the number of bytes that an item adds to a batch.
    pub const fn item_len(bytes: usize) -> usize {
        ITEM_LEN + bytes
    }

    /// Returns the frame of a piece.
    pub fn piece(head: &Head, piece: &Piece<'_>) -> Vec<u8> {
        let mut writer = Self::with_head(2, head, PIECE_LEN + piece.bytes.len());
        writer.0.extend(piece.skip.to_le_bytes());
        writer.0.extend(piece.lost.to_le_bytes());
        let mut writer = writer.words(&[piece.total, piece.offset]);
        writer.0.extend_from_slice(piece.bytes);
        writer.0
    }

    /// Returns the frame of an acknowledgement.
    pub fn ack(ack: &Ack) -> Vec<u8> {
        let resend = u64::from(ack.resend);
        let ([run_low, run_high], [source_low, source_high]) =
            (halves(ack.run), halves(ack.source));
        let words = [
            ack.epoch,
            run_low,
            run_high,
            source_low,
            source_high,
            ack.round,
            ack.expected,
            ack.received,
            ack.missing,
            resend,
        ];
        Self::new(3, 80).words(&words).0
    }

    /// Returns the frame of an item of a queue.
    pub fn job(job: &Job<'_>) -> Vec<u8> {
        let mut writer = Self::new(4, JobId::LEN + job.bytes.len());
        writer.0.extend(job.id.to_bytes());
        writer.0.extend_from_slice(job.bytes);
        writer.0
    }

    /// Returns the frame that reports that an item was consumed.
    pub fn done(done: Done) -> Vec<u8> {
        let mut writer = Self::new(5, JobId::LEN);
        writer.0.extend(done.0.to_bytes());
        writer.0
    }

    /// Returns the frame of a credit.
    pub fn credit(credit: Credit) -> Vec<u8> {
        Self::new(6, 16).words(&[credit.run, credit.items.into()]).0
    }

    /// Returns the bytes of the frame so far.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `false`: a frame always has bytes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the frame, without the memory that it has not used. An almost full frame keeps that
    /// memory, so that it is large enough for the next frame.
    pub fn finish(mut self) -> Vec<u8> {
        if self.0.len() < self.0.capacity() / 8 * 7 {
            self.0.shrink_to_fit();
        }
        self.0
    }
}
