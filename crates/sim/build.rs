//! Compiles the preloaded object. It cannot be a dependency: its symbols take the places of libc's, and
//! must not be linked into the program that uses the library.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// Further flags of the compiler, with spaces between: those of a sanitizer.
const FLAGS: &str = "BLITZ_SIM_OBJECT_FLAGS";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/object");
    println!("cargo:rerun-if-changed=src/shared");
    println!("cargo:rerun-if-env-changed={FLAGS}");
    let target = env::var("TARGET").expect("Cargo sets it");
    let object = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets it")).join("object.so");
    let host = env::var("HOST").expect("Cargo sets it");
    // The library reports an empty object. (Another host may have no linker for the target.)
    if target != "x86_64-unknown-linux-gnu" || host != target || env::var_os("DOCS_RS").is_some() {
        std::fs::write(&object, []).expect("the build folder is writable");
        return;
    }
    let status = Command::new(env::var_os("RUSTC").expect("Cargo sets it"))
        .args(["--crate-name", "blitz_sim_object", "--crate-type", "cdylib"])
        .args(["--edition", "2024", "--target", &target])
        .args([
            "-C",
            "opt-level=2",
            "-C",
            "panic=abort",
            "-C",
            "force-frame-pointers=yes",
        ])
        .args(["-C", "debuginfo=0", "-C", "strip=debuginfo"])
        .args(env::var(FLAGS).unwrap_or_default().split_whitespace())
        .arg("-o")
        .arg(&object)
        .arg("src/object/lib.rs")
        .status()
        .expect("rustc starts");
    assert!(status.success(), "the preloaded object does not compile");
}
