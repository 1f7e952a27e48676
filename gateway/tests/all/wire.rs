//! Frames come back as they were written, and no bytes make the parser panic or read too far.

use blitz_io_gateway::wire::{
    Ack, Credit, Done, Frame, Head, Item, Job, JobId, LIMIT, Malformed, Piece, Writer, parse,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn heads() -> impl Strategy<Value = Head> {
    let number = 0..LIMIT / 2;
    (
        any::<([u64; 3], u128)>(),
        [number.clone(), number.clone(), number.clone(), number],
    )
        .prop_map(|((ids, run), numbers)| Head {
            origin: ids[0],
            epoch: ids[1],
            run,
            round: ids[2],
            base: numbers[0],
            base_position: numbers[1],
            ordinal: numbers[0] + numbers[2],
            position: numbers[1] + numbers[3],
        })
}

fn often_0() -> impl Strategy<Value = u32> {
    prop_oneof![3 => Just(0), 1 => any::<u32>()]
}

fn batch(head: &Head, items: &[(u32, u32, Vec<u8>)]) -> Vec<u8> {
    let mut writer = Writer::batch(head);
    for (skip, lost, bytes) in items {
        writer.item(Item {
            skip: *skip,
            lost: *lost,
            bytes,
        });
    }
    writer.finish()
}

proptest! {
    #[test]
    fn a_batch_comes_back(head in heads(), items in vec((often_0(), often_0(), vec(any::<u8>(), 0..40)), 0..20)) {
        let bytes = batch(&head, &items);
        let Ok(Frame::Batch(found, read)) = parse(&bytes) else { panic!("no batch") };
        prop_assert_eq!(found, head);
        let whole = items.iter().position(|item| (item.0, item.1) != (0, 0));
        prop_assert_eq!(read.consecutive(), whole.unwrap_or(items.len()) as u64);
        let read: Vec<_> = read.map(|item| (item.skip, item.lost, item.bytes.to_vec())).collect();
        prop_assert_eq!(read, items);
    }

    #[test]
    fn a_piece_comes_back(head in heads(), skip: u32, lost: u32, offset in 0..LIMIT / 2, more in 0..LIMIT / 4,
                          bytes in vec(any::<u8>(), 1..99)) {
        let total = offset + bytes.len() as u64 + more;
        let piece = Piece { skip, lost, total, offset, bytes: &bytes };
        let frame = Writer::piece(&head, &piece);
        prop_assert_eq!(parse(&frame), Ok(Frame::Piece(head, piece)));
    }

    #[test]
    fn short_frames_come_back(epoch: u64, run: u64, of_ack: (u128, u128), round: u64, numbers in [0..LIMIT, 0..LIMIT, 0..LIMIT], resend: bool,
                              items: u32, bytes in vec(any::<u8>(), 0..99)) {
        let [expected, received, missing] = numbers;
        let ack = Ack { epoch, run: of_ack.0, source: of_ack.1, round, expected, received, missing, resend };
        let frame = Writer::ack(&ack);
        prop_assert_eq!(parse(&frame), Ok(Frame::Ack(ack)));
        let id = JobId { origin: epoch, epoch: run, position: expected };
        let job = Job { id, bytes: &bytes };
        let frame = Writer::job(&job);
        prop_assert_eq!(parse(&frame), Ok(Frame::Job(job)));
        let frame = Writer::done(Done(id));
        prop_assert_eq!(parse(&frame), Ok(Frame::Done(Done(id))));
        let credit = Credit { run, items };
        let frame = Writer::credit(credit);
        prop_assert_eq!(parse(&frame), Ok(Frame::Credit(credit)));
        let mut message = id.to_bytes().to_vec();
        message.extend(&bytes);
        prop_assert_eq!(JobId::split(&message), Some((id, &*bytes)));
    }

    /// Any bytes, and any change of a frame: an error or a frame, and its items are in its bytes.
    #[test]
    fn nothing_makes_the_parser_panic(bytes in vec(any::<u8>(), 0..300)) {
        look(&bytes);
    }

    #[test]
    fn a_changed_frame_is_parsed_or_refused(head in heads(), items in vec((any::<u32>(), any::<u32>(), vec(any::<u8>(), 0..40)), 0..6),
                                           changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
                                           cut: prop::sample::Index) {
        let mut bytes = batch(&head, &items);
        for (index, value) in changes {
            let at = index.index(bytes.len());
            bytes[at] = value;
        }
        look(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        look(&bytes);
    }
}

fn look(bytes: &[u8]) {
    match parse(bytes) {
        Ok(Frame::Batch(head, items)) => {
            assert!(head.base <= head.ordinal && head.position < LIMIT);
            let total: usize = items.map(|item| Writer::item_len(item.bytes.len())).sum();
            assert!(total < bytes.len());
        }
        Ok(Frame::Piece(_, piece)) => {
            assert!(piece.offset + piece.bytes.len() as u64 <= piece.total)
        }
        Ok(_) => {}
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

#[test]
fn each_error_has_its_reason() {
    let good = Writer::ack(&Ack::default());
    let changed = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        bytes
    };
    assert_eq!(parse(&[]), Err(Malformed::Short));
    assert_eq!(parse(&changed(0, 0)), Err(Malformed::Magic));
    assert_eq!(parse(&changed(4, 9)), Err(Malformed::Version(9)));
    assert_eq!(parse(&changed(5, 77)), Err(Malformed::Type(77)));
    assert_eq!(parse(&changed(8 + 55, 0xff)), Err(Malformed::Range));
    assert_eq!(parse(&good[..good.len() - 1]), Err(Malformed::Short));
    let mut long = good.clone();
    long.push(0);
    assert_eq!(parse(&long), Err(Malformed::Long));
    let head = Head {
        base: 2,
        ordinal: 1,
        ..Head::default()
    };
    assert_eq!(parse(&Writer::batch(&head).finish()), Err(Malformed::Range));
}
