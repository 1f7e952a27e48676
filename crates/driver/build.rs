//! Sets `io_uring` where the crate of that name knows the kernel's structures, and `epoll`
//! where the system's poll is epoll, and timers have descriptors (timerfd). The model checker has
//! neither: `completions` and `timer` are set where there is the real one or a model of it.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(io_uring, epoll, completions, timer)");
    let is = |key, values: &[&str]| values.contains(&env::var(key).unwrap_or_default().as_str());
    let known = ["aarch64", "loongarch64", "powerpc64", "riscv64", "x86_64"];
    let is_model = env::var_os("CARGO_CFG_LOOM").is_some();
    if is("CARGO_CFG_TARGET_OS", &["linux"]) && is("CARGO_CFG_TARGET_ARCH", &known) && !is_model {
        println!("cargo::rustc-cfg=io_uring");
        println!("cargo::rustc-cfg=completions");
    }
    if is("CARGO_CFG_TARGET_OS", &["linux", "android"]) && !is_model {
        println!("cargo::rustc-cfg=epoll");
        println!("cargo::rustc-cfg=timer");
    }
    if is_model {
        println!("cargo::rustc-cfg=completions");
        println!("cargo::rustc-cfg=timer");
    }
}
