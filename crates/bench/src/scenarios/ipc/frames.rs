//! Frames of 8 MiB, such as a camera's.

use super::link::{Link, Ours, Pipes, Streams};
use super::sum;
use crate::scenarios::prelude::*;
use crate::scenarios::processes::{Processes, Role};

/// Bytes of a frame.
const LEN: usize = 8 << 20;
/// Operations are counted in pieces of 64 KiB, so that a run with few of them is short.
const PIECES: u64 = 128;
/// Frames of one iteration of a full run.
const FRAMES: u64 = 64;

pub(super) fn scenarios() -> [Scenario; 2] {
    let row = |id, title| Scenario::new(8, id, title, FRAMES * PIECES).threads(2);
    let copied = row("ipc_frames_copied", "Frame of 8 MiB, copied in and out")
        .with(OURS, copied::<Ours>)
        .with("unix stream", copied::<Streams>)
        .with("pipes", copied::<Pipes>);
    let loaned = row(
        "ipc_frames_loaned",
        "Frame of 8 MiB, made and read in place",
    )
    .with(OURS, loaned::<Ours>)
    .with("unix stream", loaned::<Streams>)
    .with("pipes", loaned::<Pipes>);
    #[cfg(feature = "iceoryx2")]
    let (copied, loaned) = {
        use super::iceoryx::{Polled, WithEvents};
        let copied = copied
            .with("iceoryx2", self::copied::<Polled>)
            .with("iceoryx2 events", self::copied::<WithEvents>);
        let loaned = loaned
            .with("iceoryx2", self::loaned::<Polled>)
            .with("iceoryx2 events", self::loaned::<WithEvents>);
        (copied, loaned)
    };
    [copied, loaned]
}

/// The sender has the frames, and the receiver needs its own copy.
fn copied<L: Link>(cx: &Context) -> Measured {
    let mut frame = vec![0; LEN];
    draw(&mut frame, 1);
    let mut own = vec![0; LEN];
    run::<L>(
        cx,
        |sender, number| {
            frame[..8].copy_from_slice(&number.to_le_bytes());
            L::send_copy(sender, &frame);
        },
        |receiver| {
            L::receive_into(receiver, &mut own);
            sum(&own)
        },
        |number| {
            let first = 1_u64.wrapping_mul(STEP);
            drawn(1).wrapping_sub(first).wrapping_add(number)
        },
    )
}

/// The sender creates each frame in place, and the receiver reads it there.
fn loaned<L: Link>(cx: &Context) -> Measured {
    run::<L>(
        cx,
        |sender, number| L::send(sender, |bytes| draw(bytes, number)),
        |receiver| L::receive(receiver, sum),
        drawn,
    )
}

/// Makes the words of different frames different.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Writes the frame `number`.
fn draw(bytes: &mut [u8], number: u64) {
    let (words, _) = bytes.as_chunks_mut::<8>();
    let mut word = number.wrapping_mul(STEP);
    for bytes in words {
        *bytes = word.to_le_bytes();
        word = word.wrapping_add(1);
    }
}

/// Returns the [`sum`] of the frame that [`draw`] writes.
fn drawn(number: u64) -> u64 {
    let words = (LEN / 8) as u64;
    let each = number.wrapping_mul(STEP).wrapping_mul(words);
    each.wrapping_add(words * (words - 1) / 2)
        .wrapping_add(LEN as u64)
}

fn run<L: Link>(
    cx: &Context,
    mut send: impl FnMut(&mut L::Sender, u64),
    mut receive: impl FnMut(&mut L::Receiver) -> u64,
    expected: impl Fn(u64) -> u64,
) -> Measured {
    let frames = (cx.ops / PIECES).max(1);
    let all = (0..frames).fold(0, |all, number| expected(number).wrapping_add(all));
    let link = L::new(LEN);
    let mut processes = Processes::new(2, 0)?;
    processes.start(&link, |link, role: &Role<'_>| {
        let mut sender = link.sender();
        role.wait_for_all();
        (0..frames).for_each(|number| send(&mut sender, number));
        role.ended(0, 0);
    })?;
    processes.start(&link, |link, role: &Role<'_>| {
        let mut receiver = link.receiver();
        role.wait_for_all();
        let found = (0..frames).fold(0, |all, _| receive(&mut receiver).wrapping_add(all));
        role.ended(frames, found);
    })?;
    let found = processes.measure()?;
    let (count, sum) = found.reports[1];
    verify("frames", frames, count)?;
    verify("sum of the bytes", all, sum)?;
    let span = Span::of(found.elapsed);
    Ok(Sample::new(span, frames))
}
