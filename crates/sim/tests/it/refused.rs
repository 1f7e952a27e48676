//! Programs that cannot be simulated.

use std::fs;

use blitz_io_sim::Simulator;

use crate::support::c;

#[test]
fn a_program_of_musl_is_refused() {
    let compiled = c("int main(void) { return 0; }");
    let mut bytes = fs::read(&compiled.program.path).unwrap();
    let (glibc, musl) = (b"ld-linux-x86-64.so.2\0", b"ld-musl-x86_64.so.1\0\0");
    let at = bytes.windows(glibc.len()).position(|part| part == glibc);
    bytes[at.unwrap()..][..musl.len()].copy_from_slice(musl);
    fs::write(&compiled.program.path, bytes).unwrap();
    let error = Simulator::start(&compiled.program).unwrap_err().to_string();
    assert!(error.contains("is linked with musl"), "{error}");
}
