//! BGZF: any bytes as a file, and any bytes as content.

#![no_main]

use std::io::Read;

use blitz_io_pipeline::gzip::{
    BGZF_END, Compressor, Decompressor, bgzf_blocks, content_len, inflate, is_bgzf,
};

/// Reads a file in BGZF, in blocks of about `size` bytes.
fn read(file: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut next = bgzf_blocks(file, size);
    let mut decompressor = Decompressor::new();
    let mut content = vec![];
    while let Some(blocks) = next().ok()? {
        let more = decompressor.bgzf(&blocks).ok()?;
        assert_eq!(content_len(&blocks).ok(), Some(more.len() as u64));
        content.extend(more);
    }
    Some(content)
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let content = read(data, 1 << 16);
    assert_eq!(read(data, 1), content);
    assert!(content.is_none() || is_bgzf(data));
    let (_, _) = (content_len(data), Decompressor::new().bgzf(data));

    // As another library reads it, which cares more about what is between blocks.
    let mut other = vec![];
    let limit = 1 << 20;
    let read_by_other = flate2::bufread::MultiGzDecoder::new(data)
        .take(limit)
        .read_to_end(&mut other);
    if let (Some(content), Ok(_)) = (&content, &read_by_other)
        && (other.len() as u64) < limit
    {
        assert_eq!(*content, other);
    }
    let mut inflated = vec![];
    let mut next = inflate(data, 1000);
    let ended = loop {
        match next() {
            Ok(Some(_)) if inflated.len() as u64 >= limit => return,
            Ok(Some(more)) => inflated.extend(more),
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    assert!(!ended || inflated == other);

    let level = data.first().map_or(1, |&byte| u32::from(byte) % 7);
    let mut file = Compressor::new(level).bgzf(data).expect("it is compressed");
    file.extend(BGZF_END);
    assert_eq!(read(&file, 1 << 16).as_deref(), Some(data));
});
