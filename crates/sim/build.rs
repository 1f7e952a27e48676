//! Compiles the preloaded object, and the library that programs for `--atomics` are linked with. They cannot be
//! dependencies: the object's symbols take the places of libc's, and must not be linked into the program that uses
//! the library. Both are for programs of glibc, also where the library itself is compiled for musl.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Further flags of the compiler for the object, with spaces between: those of a sanitizer.
const FLAGS: &str = "BLITZ_SIM_OBJECT_FLAGS";

/// The system of the programs that are simulated, and of the compiler that can build for it.
const SYSTEM: &str = "x86_64-unknown-linux-gnu";

fn main() {
    for path in ["build.rs", "src/object", "src/shared", "src/linked"] {
        println!("cargo:rerun-if-changed={path}");
    }
    println!("cargo:rerun-if-env-changed={FLAGS}");
    let target = env::var("TARGET").expect("Cargo sets it");
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets it"));
    let (object, linked) = (folder.join("object.so"), folder.join("linked.so"));
    let host = env::var("HOST").expect("Cargo sets it");
    // The library reports empty files. (Another host may have no linker for the target.)
    let is_near = target == SYSTEM || target == "x86_64-unknown-linux-musl";
    if !is_near || host != SYSTEM || env::var_os("DOCS_RS").is_some() {
        for file in [object, linked] {
            std::fs::write(file, []).expect("the build folder is writable");
        }
        return;
    }
    // The object's symbols are for the backtraces in reports.
    let flags = env::var(FLAGS).unwrap_or_default() + " -Cstrip=debuginfo";
    compile("blitz_sim_object", "src/object/lib.rs", &flags, &object);
    let flags = "-Cstrip=symbols";
    compile("blitz_sim_atomics", "src/linked/lib.rs", flags, &linked);
}

/// Compiles a shared object of C.
fn compile(name: &str, source: &str, flags: &str, to: &Path) {
    let status = Command::new(env::var_os("RUSTC").expect("Cargo sets it"))
        .args(["--crate-name", name, "--crate-type", "cdylib"])
        .args(["--edition", "2024", "--target", SYSTEM])
        .args(["-C", "opt-level=2", "-C", "panic=abort"])
        .args(["-C", "force-frame-pointers=yes", "-C", "debuginfo=0"])
        .args(flags.split_whitespace())
        .arg("-o")
        .arg(to)
        .arg(source)
        .status()
        .expect("rustc starts");
    assert!(status.success(), "{name} does not compile");
}
