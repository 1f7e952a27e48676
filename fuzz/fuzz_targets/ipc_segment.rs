//! A participant of a segment that writes anything anywhere while others use the segment,
//! and descriptors of files that are no segment. Each call must return, and none may panic.

#![no_main]

use std::fs::File;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

use blitz_io_ipc::{
    Anonymous, Builder, Channel, Queue, Receiver, Route, SendOptions, Sender, WhenFull,
};

const CAPACITY: usize = 4;
const MAX_LEN: usize = 32;
/// More calls of one input find nothing new.
const CALLS: usize = 200;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let first = input.byte();
    if first >= 0x80 {
        let segment = Anonymous::from(file(input.0));
        let (_, _) = (segment.sender(), segment.receiver());
        return;
    }
    let segment = builder(first).anonymous().expect("a segment is made");
    let segment = segment.with_history(first & 0x40 != 0);
    let fd = OwnedFd::from(segment);
    let file = File::from(fd.try_clone().expect("a descriptor is copied"));
    let segment = Anonymous::from(fd);
    let words = file.metadata().expect("a file has a size").len() / 8;

    let mut senders: Vec<Sender> = vec![];
    let mut receivers: Vec<Receiver> = vec![];
    let mut buffer = [0; MAX_LEN];
    for _ in 0..CALLS {
        if input.0.is_empty() {
            break;
        }
        let call = input.byte();
        match call % 12 {
            0..4 => {
                let word = u64::from(input.short()) % words;
                let value = input.value().to_le_bytes();
                file.write_all_at(&value, word * 8).expect("it is memory");
            }
            // One more than there may be would wait, in vain, for one to leave.
            4 if senders.is_empty() => senders.extend(segment.sender()),
            5 if receivers.len() < 2 => receivers.extend(segment.receiver()),
            6 => drop(senders.pop()),
            7 => drop(receivers.pop()),
            8 => {
                let len = usize::from(input.byte()) % (MAX_LEN + 2);
                let message = [call; MAX_LEN + 2];
                for sender in &mut senders {
                    let _ = sender.try_send(&message[..len]);
                    let _ = sender.with(SendOptions::new().arm()).send(&message[..len]);
                }
            }
            9 => {
                for sender in &mut senders {
                    if let Ok(mut loan) = sender.with(SendOptions::new().no_wait()).loan(MAX_LEN) {
                        loan.fill(call);
                        loan.truncate(usize::from(call) % MAX_LEN);
                        let _ = loan.send();
                    }
                }
            }
            10 => {
                for receiver in &mut receivers {
                    if let Ok(message) = receiver.try_recv() {
                        assert!(message.len() <= MAX_LEN);
                    }
                    let _ = receiver.try_recv_or_arm().map(drop);
                }
            }
            11 => {
                for receiver in &mut receivers {
                    if let Ok(len) = receiver.try_recv_into(&mut buffer) {
                        assert!(len <= MAX_LEN);
                    }
                }
            }
            _ => {}
        }
    }
});

/// Returns the settings that a byte selects.
fn builder(byte: u8) -> Builder {
    let builder = match byte % 3 {
        0 => Route::builder(),
        1 => Channel::builder().max_senders(2),
        _ => Queue::builder().max_senders(2),
    };
    let when_full = match byte / 3 % 3 {
        0 => WhenFull::Block,
        1 => WhenFull::DropOldest,
        _ => WhenFull::Fail,
    };
    let builder = builder.capacity(CAPACITY).max_len(MAX_LEN);
    builder.max_receivers(2).when_full(when_full)
}

/// Makes an anonymous file with this content, whose size is sealed.
fn file(content: &[u8]) -> OwnedFd {
    // SAFETY: the name is a C string.
    let fd = unsafe { libc::memfd_create(c"fuzz".as_ptr(), libc::MFD_ALLOW_SEALING) };
    assert!(fd >= 0);
    // SAFETY: it has just been made, and this is its only owner.
    let file = unsafe { File::from_raw_fd(fd) };
    file.write_all_at(content, 0).expect("it is memory");
    // SAFETY: the descriptor is open.
    let sealed = unsafe {
        libc::fcntl(
            fd,
            libc::F_ADD_SEALS,
            libc::F_SEAL_SHRINK | libc::F_SEAL_GROW,
        )
    };
    assert_eq!(sealed, 0);
    file.into()
}

/// Bytes of the input; after its end, zeros.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or(0)
    }

    fn short(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// Returns a value, often one near to those of the protocol.
    fn value(&mut self) -> u64 {
        match self.byte() {
            0 => 0,
            1 => u64::MAX,
            2 => u64::from(self.short()) << 12 | u64::from(self.byte()),
            3 => 1 << (self.byte() % 64),
            4 => u64::from(self.byte()),
            _ => u64::from_le_bytes(std::array::from_fn(|_| self.byte())),
        }
    }
}
