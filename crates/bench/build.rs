//! Compiles the peers that are written in C++.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "cpp-peers")]
    cpp_peers::build();
}

#[cfg(feature = "cpp-peers")]
mod cpp_peers {
    use std::path::Path;
    use std::process::{Stdio, exit};

    use cc::Build;

    /// The peers that are not part of the compiler: a header, and the package of Debian that has it.
    const PACKAGES: [(&str, &str); 5] = [
        ("tbb/parallel_for.h", "libtbb-dev"),
        ("boost/fiber/fiber.hpp", "libboost-fiber-dev"),
        ("boost/asio.hpp", "libboost-dev"),
        ("uv.h", "libuv1-dev"),
        (
            "concurrentqueue/blockingconcurrentqueue.h",
            "libconcurrentqueue-dev",
        ),
    ];

    const LIBRARIES: [&str; 5] = ["tbb", "boost_fiber", "boost_context", "uv", "gomp"];

    pub(super) fn build() {
        if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
            return;
        }
        let bindings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bindings");
        let sources = bindings.join("bench");
        if !sources.is_dir() {
            fail(
                "the feature cpp-peers needs the repository of blitz-io: the package lacks the sources in C++",
            );
        }
        require_packages();
        println!("cargo::rerun-if-changed={}", bindings.display());
        let files = ["echo", "fibers", "locks", "loops", "queues", "rows"];
        Build::new()
            .cpp(true)
            .std("c++20")
            .flag("-fopenmp")
            .include(bindings.join("c/include"))
            .include(bindings.join("cpp/include"))
            .files(files.map(|file| sources.join(file).with_extension("cpp")))
            .compile("blitz_cpp_peers");
        for library in LIBRARIES {
            println!("cargo::rustc-link-lib={library}");
        }
    }

    fn require_packages() {
        let compiler = Build::new().cpp(true).get_compiler();
        let source = Path::new(&std::env::var("OUT_DIR").unwrap()).join("has_include.cpp");
        std::fs::write(
            &source,
            "#if !__has_include(HEADER)\n#error missing\n#endif\n",
        )
        .unwrap();
        let is_missing = |header: &str| {
            let mut command = compiler.to_command();
            command.args(["-std=c++17", "-fsyntax-only"]);
            command.arg(format!("-DHEADER=<{header}>")).arg(&source);
            let status = command.stderr(Stdio::null()).status();
            !status.is_ok_and(|status| status.success())
        };
        let missing = PACKAGES.iter().filter(|(header, _)| is_missing(header));
        let missing: Vec<_> = missing.map(|&(_, package)| package).collect();
        if !missing.is_empty() {
            fail(&format!(
                "the feature cpp-peers lacks libraries of C++. On Debian: apt-get install {}",
                missing.join(" ")
            ));
        }
    }

    fn fail(message: &str) -> ! {
        println!("cargo::error={message}");
        exit(1);
    }
}
