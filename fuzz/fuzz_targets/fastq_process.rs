//! Reads that `blitz-fastq` processes: the first line has the options, the others the reads.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let line = data.iter().position(|&byte| byte == b'\n');
    let (options, reads) = data.split_at(line.map_or(data.len(), |end| end + 1));
    let Ok(options) = str::from_utf8(options) else {
        return;
    };
    // Options may name files, which are read; not those of this machine.
    if !options.contains('/') {
        let words: Vec<String> = options.split_whitespace().map(str::to_owned).collect();
        blitz_io_fastq::fuzz::process(&words, reads);
    }
});
