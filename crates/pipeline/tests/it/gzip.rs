//! Compressed data: output of this crate can be read, and broken data is refused.
#![cfg(feature = "gzip")]

use std::io::{self, ErrorKind};

use blitz_io_pipeline::gzip::{
    BGZF_END, Compressor, bgzf_blocks, blocks, content_len, inflate, is_bgzf,
};
use blitz_io_pipeline::{Error, source};
use blitz_io_testing::file_of_panic;

fn text(length: usize) -> Vec<u8> {
    let mut x = 1_u32;
    let next = || {
        x = x.wrapping_mul(1664525).wrapping_add(1013904223);
        b"ACGTN\n"[(x >> 24) as usize % 6]
    };
    std::iter::repeat_with(next).take(length).collect()
}

fn gzip(text: &[u8], size: usize, level: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let pipeline = source(blocks(text, size)).gzip_blocks(level);
    pipeline
        .for_each(|block| file.extend(block))
        .workers(3)
        .run()
        .unwrap();
    file
}

fn bgzf(text: &[u8], size: usize, level: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let pipeline = source(blocks(text, size)).bgzf(level);
    pipeline
        .for_each(|block| file.extend(block))
        .workers(3)
        .run()
        .unwrap();
    file.extend(BGZF_END);
    file
}

fn gunzip(file: &[u8]) -> Result<Vec<u8>, ErrorKind> {
    let mut text = Vec::new();
    let pipeline = source(inflate(file, 1000)).for_each(|block| text.extend(block));
    kind(pipeline.workers(2).run())?;
    Ok(text)
}

fn bgunzip(file: &[u8]) -> Result<Vec<u8>, ErrorKind> {
    let mut text = Vec::new();
    let pipeline = source(bgzf_blocks(file, 1000)).bgzf_inflate();
    kind(
        pipeline
            .for_each(|block| text.extend(block))
            .workers(3)
            .run(),
    )?;
    Ok(text)
}

fn kind<T>(ended: Result<T, Error<io::Error>>) -> Result<T, ErrorKind> {
    ended.map_err(|error| error.into_inner().unwrap().kind())
}

#[test]
fn what_is_compressed_comes_back() {
    for length in [1, 1000, 65_280, 65_281, 300_000] {
        let text = text(length);
        for level in [0, 1, 6, 12] {
            assert_eq!(gunzip(&gzip(&text, 10_000, level)).unwrap(), text);
            let file = bgzf(&text, 100_000, level);
            assert!(is_bgzf(&file));
            assert_eq!(bgunzip(&file).unwrap(), text);
            assert_eq!(gunzip(&file).unwrap(), text);
        }
    }
}

#[test]
fn what_cannot_be_compressed_fits_a_block() {
    let mut x = 1_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1);
        (x >> 56) as u8
    })
    .take(200_000)
    .collect();
    for level in [0, 1, 6, 12] {
        assert_eq!(bgunzip(&bgzf(&noise, 200_000, level)).unwrap(), noise);
    }
}

#[test]
fn a_file_that_is_cut_off_is_an_error_wherever_it_is() {
    let text = text(3000);
    let (one, two) = (gzip(&text, 1000, 6), bgzf(&text, 1000, 6));
    let members: Vec<usize> = (1..one.len())
        .filter(|&cut| gunzip(&one[..cut]).is_ok())
        .collect();
    // Cut between two members, it is a complete file.
    assert_eq!(members.len(), 2);
    for cut in (1..one.len()).filter(|cut| !members.contains(cut)) {
        assert_eq!(gunzip(&one[..cut]), Err(ErrorKind::UnexpectedEof), "{cut}");
    }
    for cut in 0..two.len() {
        assert_eq!(bgunzip(&two[..cut]), Err(ErrorKind::UnexpectedEof), "{cut}");
    }
}

/// As `gzip -dc` does, for files that are smaller than one block of content, too.
#[test]
fn all_content_before_a_cut_comes_before_the_error() {
    fn until_error(mut next: impl FnMut() -> io::Result<Option<Vec<u8>>>) -> (Vec<u8>, ErrorKind) {
        let mut all = Vec::new();
        loop {
            match next() {
                Ok(Some(block)) => all.extend(block),
                Ok(None) => unreachable!("the file is cut off"),
                Err(error) => return (all, error.kind()),
            }
        }
    }
    let text = text(3000);
    let one = gzip(&text, 3000, 6);
    // The checksum is cut off.
    let cut = &one[..one.len() - 1];
    let expected = (text.clone(), ErrorKind::UnexpectedEof);
    assert_eq!(until_error(inflate(cut, 1 << 18)), expected);
    let two = bgzf(&text, 1000, 6);
    let whole = &two[..two.len() - BGZF_END.len()];
    let cut = &two[..two.len() - 1];
    let expected = (whole.to_vec(), ErrorKind::UnexpectedEof);
    assert_eq!(until_error(bgzf_blocks(cut, 1 << 20)), expected);
}

#[test]
fn a_changed_byte_never_panics() {
    let text = text(2000);
    let file = bgzf(&text, 1000, 6);
    for at in 0..file.len() {
        for change in [1, 0x80, 0xff] {
            let mut broken = file.clone();
            broken[at] ^= change;
            // The header of a member has bytes that do not affect the content.
            if let Ok(back) = bgunzip(&broken) {
                assert_eq!(back, text, "{at}");
            }
        }
    }
}

#[test]
fn other_files_are_no_bgzf() {
    assert_eq!(bgunzip(b"plain text"), Err(ErrorKind::InvalidData));
    assert_eq!(bgunzip(&gzip(b"text", 10, 6)), Err(ErrorKind::InvalidData));
    assert!(!is_bgzf(b""));
    assert!(gunzip(b"plain text, and more of it").is_err());
}

#[test]
fn zeros_after_the_end_are_ignored() {
    let text = text(3000);
    for zeros in [1, 9, 27, 511, 200_000] {
        let pad = |file: Vec<u8>| [file, vec![0; zeros]].concat();
        assert_eq!(gunzip(&pad(gzip(&text, 1000, 6))).unwrap(), text);
        let blocks = pad(bgzf(&text, 1000, 6));
        assert_eq!(gunzip(&blocks).unwrap(), text);
        assert_eq!(bgunzip(&blocks).unwrap(), text);
        for file in [gzip(&text, 1000, 6), blocks] {
            let other = [pad(file), b"x".to_vec()].concat();
            assert_eq!(gunzip(&other), Err(ErrorKind::InvalidData));
        }
    }
    for file in [gzip(&text, 1000, 6), bgzf(&text, 1000, 6)] {
        let other = [&file[..], b"x"].concat();
        assert_eq!(gunzip(&other), Err(ErrorKind::InvalidData));
    }
    assert_eq!(gunzip(b"x"), Err(ErrorKind::InvalidData));
    assert_eq!(gunzip(b""), Err(ErrorKind::UnexpectedEof));
    assert_eq!(gunzip(&[0; 100]), Err(ErrorKind::InvalidData));
}

/// Blocks of zeros are a thousand times smaller than their content.
#[test]
fn a_batch_of_blocks_is_bounded_by_its_content() {
    let zeros = bgzf(&vec![0; 4_000_000], 1 << 20, 6);
    let empty = [vec![BGZF_END; 10_000].concat(), bgzf(b"x", 10, 6)].concat();
    for (file, expected) in [(zeros, 4_000_000), (empty, 1)] {
        let (mut next, mut all) = (bgzf_blocks(&file[..], 100_000), 0);
        while let Some(blocks) = next().unwrap() {
            let content = content_len(&blocks).unwrap();
            assert!(content < 100_000 + 65_536 && blocks.len() < 100_000 + 65_536);
            all += content;
        }
        assert_eq!(all, expected);
    }
}

/// Fields of the header that only other programs write.
#[test]
fn headers_have_names_comments_and_more() {
    let plain = gzip(b"content", 100, 6);
    let mut all = plain[..10].to_vec();
    all[3] = 0b11110;
    all.extend([3, 0, 1, 2, 3]);
    all.extend(b"name\0comment\0");
    all.extend([7, 7]);
    let begun = all.len();
    all.extend(&plain[10..]);
    assert_eq!(gunzip(&all).unwrap(), b"content");
    for cut in 1..begun {
        assert_eq!(gunzip(&all[..cut]), Err(ErrorKind::UnexpectedEof));
    }
}

#[test]
fn a_level_that_there_is_not_is_refused_where_it_is_said() {
    let stages = || source(|| Ok::<_, io::Error>(None::<Vec<u8>>));
    let places = [
        file_of_panic(|| Compressor::new(13)),
        file_of_panic(|| stages().gzip_blocks(13)),
        file_of_panic(|| stages().bgzf(u32::MAX)),
    ];
    assert_eq!(places, [file!(); 3]);
}
