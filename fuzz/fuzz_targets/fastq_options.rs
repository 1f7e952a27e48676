//! Command lines of `blitz-fastq`: one word a line.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    // Options may name files, which are read; not those of this machine.
    if !text.contains('/') {
        let words: Vec<String> = text.lines().map(str::to_owned).collect();
        blitz_io_fastq::fuzz::command_line(&words);
    }
});
