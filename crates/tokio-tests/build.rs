//! Copies test files of the package `tokio` (the version that `Cargo.lock` names) from where
//! Cargo has unpacked it, so that `tests/` can include them. Nothing of Tokio is kept in this
//! repository.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const FILES: [&str; 6] = [
    "macros_join",
    "macros_pin",
    "macros_rename_test",
    "macros_select",
    "macros_test",
    "macros_try_join",
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../../Cargo.lock");
    // Tokio's tests of what it calls unstable, and we do not: `rng_seed`, `unhandled_panic`.
    println!("cargo:rustc-check-cfg=cfg(tokio_unstable)");
    println!("cargo:rustc-cfg=tokio_unstable");

    let tests = tokio().join("tests");
    let copies = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    for file in FILES {
        let path = tests.join(file).with_extension("rs");
        let text = fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
        fs::write(copies.join(file).with_extension("rs"), includable(&text)).unwrap();
    }
}

/// The folder of the package `tokio` from the registry.
fn tokio() -> PathBuf {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked"])
        .args(["--filter-platform", &env::var("TARGET").unwrap()])
        .output()
        .expect("cannot run cargo metadata");
    assert!(
        output.status.success(),
        "cargo metadata failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let tokio = packages
        .iter()
        .find(|package| package["name"] == "tokio" && package["source"].is_string())
        .expect("the package tokio is not in the graph");
    let manifest = Path::new(tokio["manifest_path"].as_str().unwrap());
    manifest.parent().unwrap().to_owned()
}

/// An included file cannot have attributes for the whole of itself.
fn includable(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("#!["));
    lines.flat_map(|line| [line, "\n"]).collect()
}
