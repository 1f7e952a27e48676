//! Builds the package: the module `blitz_io`, its tests, examples, benchmark and documentation.
//!
//! The module needs the C library of blitz-io. It comes from one of three places:
//!
//! 1. `-Dlib-dir=DIR`: a folder with `libblitz.a` (or `libblitz.so`, with `-Dlinkage=dynamic`).
//! 2. A checkout of blitz-io, which `-Dcheckout=DIR` names or which is around this package: `cargo` builds
//!    it, as `-Dcargo-profile=` says, for the target of the module.
//! 3. Otherwise the system's library, found by pkg-config.

const std = @import("std");
const LazyPath = std.Build.LazyPath;

pub fn build(b: *std.Build) void {
    const target = b.standardTargetOptions(.{});
    const optimize = b.standardOptimizeOption(.{});
    const filters = b.option([]const []const u8, "test-filter", "Run the tests whose name contains this") orelse &.{};

    const module = b.addModule("blitz_io", .{
        .root_source_file = b.path("src/root.zig"),
        .target = target,
        .optimize = optimize,
        .link_libc = true,
    });
    const checkout = checkoutOf(b);
    linkLibrary(b, module, checkout);

    const test_step = b.step("test", "Run the tests");
    const tests = b.addTest(.{ .root_module = module, .filters = filters });
    test_step.dependOn(&b.addRunArtifact(tests).step);
    for ([_][2][]const u8{ .{ "tests", "io" }, .{ "tests", "http" }, .{ "examples", "http" } }) |file| {
        const io_tests = b.addTest(.{ .name = file[1], .root_module = program(b, module, file[0], file[1]), .filters = filters });
        test_step.dependOn(&b.addRunArtifact(io_tests).step);
    }

    const replace = b.addExecutable(.{ .name = "replace", .root_module = program(b, module, "tests", "replace") });
    const replaced = b.addRunArtifact(replace);
    replaced.expectStdOutEqual("replaced\n");
    test_step.dependOn(&replaced.step);

    addMisuse(b, module, test_step);
    addRefused(b, module, test_step);

    const examples_step = b.step("examples", "Run the examples");
    for (examples) |name| {
        const example = b.addExecutable(.{ .name = name, .root_module = program(b, module, "examples", name) });
        b.installArtifact(example);
        examples_step.dependOn(&b.addRunArtifact(example).step);
    }

    addBenchmarks(b, module, checkout);

    const docs = b.addInstallDirectory(.{
        .source_dir = b.addObject(.{ .name = "blitz_io", .root_module = module }).getEmittedDocs(),
        .install_dir = .prefix,
        .install_subdir = "docs",
    });
    b.step("docs", "Write the documentation to zig-out/docs").dependOn(&docs.step);

    const fmt = b.addFmt(.{
        .paths = b.pathList(&.{ "build.zig", "build.zig.zon", "src", "tests", "examples", "bench" }),
        .check = true,
    });
    b.step("fmt", "Check the format of the sources").dependOn(&fmt.step);
}

/// Mistakes at run time, of `tests/misuse.zig`, with a part of the message about each.
const misuse = [_][2][]const u8{
    .{ "unlock", "BLITZ_EINVAL" },
    .{ "unlock_used", "BLITZ_EINVAL" },
    .{ "unlock_write", "BLITZ_EINVAL" },
    .{ "unlock_read", "BLITZ_EINVAL" },
    .{ "wait_unlocked", "BLITZ_EINVAL" },
    .{ "count_down", "BLITZ_EINVAL" },
    .{ "release", "BLITZ_EINVAL" },
    .{ "cancel_thread", "BLITZ_EINVAL" },
    .{ "permits", "reached unreachable code" },
    .{ "barrier", "reached unreachable code" },
    .{ "no_words", "reached unreachable code" },
    .{ "range", "reached unreachable code" },
};

/// Adds to the tests that each mistake ends the program with a message. The last ones are assertions, which
/// only the modes with safety checks have.
fn addMisuse(b: *std.Build, module: *std.Build.Module, test_step: *std.Build.Step) void {
    const exe = b.addExecutable(.{ .name = "misuse", .root_module = program(b, module, "tests", "misuse") });
    for (misuse) |mistake| {
        const is_assertion = std.mem.eql(u8, mistake[1], "reached unreachable code");
        const is_safe = module.optimize == null or module.optimize.? == .debug or module.optimize.? == .safe;
        if (is_assertion and !is_safe) continue;
        const run = b.addRunArtifact(exe);
        run.setName(b.fmt("misuse: {s}", .{mistake[0]}));
        run.addArg(mistake[0]);
        run.expectStdErrMatch(mistake[1]);
        run.addCheck(.{ .expect_term = .{ .signal = .ABRT } });
        test_step.dependOn(&run.step);
    }
}

/// Mistakes of `tests/refused.zig`, with the message of the compiler about each.
const refused = [_][2][]const u8{
    .{ "cloneOneshot", "a channel for a single element has a single sender" },
    .{ "subscribeToChannel", "only Broadcast and Watch have subscribers" },
    .{ "closeChannel", "only MpmcChannel is closed by a sender: end the senders of others" },
    .{ "cloneReceiver", "this channel has a single receiver" },
    .{ "latestOfChannel", "only Watch has a latest element" },
    .{ "closeBroadcast", "end the receivers of Broadcast and Watch" },
    .{ "selectNothing", "select needs an operation" },
    .{ "selectNumber", "an operation of select is made by receive or send" },
    .{ "largeElement", "an element of a channel has 1 GiB at most" },
};

/// Adds to the tests that each mistake is an error of the compiler.
fn addRefused(b: *std.Build, module: *std.Build.Module, test_step: *std.Build.Step) void {
    for (refused) |mistake| {
        const options = b.addOptions();
        options.addOption([]const u8, "name", mistake[0]);
        const root = program(b, module, "tests", "refused");
        root.addOptions("mistake", options);
        const object = b.addObject(.{ .name = mistake[0], .root_module = root });
        object.expect_errors = .{ .contains = mistake[1] };
        test_step.dependOn(&object.step);
    }
}

/// Adds the steps `bench` and `compare`. Both measure an optimised program, whatever `-Doptimize=` says.
fn addBenchmarks(b: *std.Build, module: *std.Build.Module, checkout: ?LazyPath) void {
    const fast = b.createModule(.{
        .root_source_file = module.root_source_file,
        .target = module.resolved_target,
        .optimize = .fast,
        .link_libc = true,
    });
    linkTo(fast, module);
    const root = program(b, fast, "bench", "main");
    if (module.resolved_target.?.result.os.tag == .linux) root.addImport("evented", evented(b));
    const exe = b.addExecutable(.{ .name = "bench", .root_module = root });

    const bench = b.addRunArtifact(exe);
    bench.addPassthruArgs();
    bench.has_side_effects = true;
    b.step("bench", "Measure tiers 1 to 3, fibers and echoes; options after --, such as --json").dependOn(&bench.step);

    // The Rust benchmark measures Tokio, and our own rows in Rust, at the same counts.
    const rust_program = b.option([]const u8, "rust-bench", "A compiled `blitz` of the Rust benchmark (default: cargo runs it)");
    const quick = b.option(bool, "quick", "compare: few iterations of the Rust benchmark") orelse false;
    const step = b.step("compare", "Measure tiers 1 to 3 side by side with Tokio");
    if (rust_program == null and checkout == null) {
        const message = "compare needs the Rust benchmark: name a checkout by -Dcheckout=, or a compiled blitz by -Drust-bench=";
        return step.dependOn(&b.addFail(message).step);
    }
    const rust = if (rust_program) |path|
        b.addSystemCommand(&.{path})
    else
        b.addSystemCommand(&.{ "cargo", "run", "-q", "--locked", "--release", "--package", "blitz-io-cli", "--" });
    rust.addArgs(&.{ "bench", "--tier", "1", "--tier", "2", "--tier", "3", "--peers", "tokio", "--json" });
    if (quick) rust.addArg("--quick");
    rust.setCwd(checkout orelse b.path("."));
    rust.has_side_effects = true;
    const compare = b.addRunArtifact(exe);
    compare.addArg("--compare");
    compare.addFileArg(rust.captureStdOut(.{}));
    compare.addPassthruArgs();
    compare.has_side_effects = true;
    step.dependOn(&compare.step);
}

/// Returns `std.Io.Evented` as a module. In Zig 0.17.1 it does not compile where it is: two lines name
/// `net_accept`, which is no operation any more. These lines are left out.
fn evented(b: *std.Build) *std.Build.Module {
    const sed = b.addSystemCommand(&.{"sed"});
    for ([_][]const u8{
        "s|@import(\"../std.zig\")|@import(\"std\")|",
        "/^ *\\.net_accept => |o| {$/,/^ *},$/d",
        "/^ *\\.net_accept => @panic/d",
    }) |script| sed.addArgs(&.{ "-e", script });
    sed.addFileArg(LazyPath.zig_lib.path(b, "std/Io/Uring.zig"));
    return b.createModule(.{ .root_source_file = sed.captureStdOut(.{ .basename = "evented.zig" }) });
}

/// Links what `module` links to another module.
fn linkTo(other: *std.Build.Module, module: *std.Build.Module) void {
    const arena = module.owner.graph.arena;
    other.link_objects.appendSlice(arena, module.link_objects.items) catch @panic("OOM");
    other.lib_paths.appendSlice(arena, module.lib_paths.items) catch @panic("OOM");
    other.rpaths.appendSlice(arena, module.rpaths.items) catch @panic("OOM");
}

/// The programs in `examples`.
const examples = [_][]const u8{ "chat", "echo", "http", "measure", "parallel_sum", "std_io", "tour", "two_processes" };

/// Returns the module of a program that uses the package.
fn program(b: *std.Build, module: *std.Build.Module, folder: []const u8, name: []const u8) *std.Build.Module {
    return b.createModule(.{
        .root_source_file = b.path(b.fmt("{s}/{s}.zig", .{ folder, name })),
        .target = module.resolved_target,
        .optimize = module.optimize,
        .imports = &.{.{ .name = "blitz_io", .module = module }},
    });
}

/// Links the C library to a module, from the place that the options choose.
fn linkLibrary(b: *std.Build, module: *std.Build.Module, checkout: ?LazyPath) void {
    const linkage = b.option(std.builtin.LinkMode, "linkage", "How the C library is linked (default: static)") orelse .static;
    const lib_dir = b.option(LazyPath, "lib-dir", "The folder of libblitz.a or libblitz.so");
    const profile = b.option([]const u8, "cargo-profile", "The cargo profile of the C library (default: release)") orelse "release";

    if (lib_dir) |dir| {
        module.addLibraryPath(dir);
        if (linkage == .dynamic) module.addRPath(dir);
        module.linkSystemLibrary("blitz", .{
            .use_pkg_config = .no,
            .preferred_link_mode = linkage,
            .search_strategy = .no_fallback,
        });
    } else if (checkout) |folder| {
        module.addObjectFile(buildWithCargo(b, folder, profile, module.resolved_target.?.result));
    } else if (noSystemLibrary(b, module.resolved_target.?.result)) |message| {
        // A module has no steps of its own; a file that is never made does as well.
        const never = b.addWriteFiles();
        never.step.dependOn(&b.addFail(message).step);
        module.addObjectFile(never.add("libblitz.a", ""));
    } else {
        module.linkSystemLibrary("blitz", .{ .use_pkg_config = .force, .preferred_link_mode = linkage });
    }
    // The library unwinds its own panics, up to the entry that catches them.
    module.linkSystemLibrary("unwind", .{ .use_pkg_config = .no });
}

/// Returns the checkout of blitz-io that has the sources of the C library, or null.
fn checkoutOf(b: *std.Build) ?LazyPath {
    const description = "A checkout of blitz-io, in which cargo builds the C library (default: the one around this package)";
    if (b.option(LazyPath, "checkout", description)) |folder| return folder;
    const manifest = b.root.joinString(b.allocator, "../c/Cargo.toml") catch @panic("OOM");
    std.Io.Dir.cwd().access(b.graph.io, manifest, .{}) catch return null;
    return b.path("../..");
}

/// Returns why the system has no library for the target, or null.
fn noSystemLibrary(b: *std.Build, target: std.Target) ?[]const u8 {
    if (isHost(b, target)) {
        var code: u8 = undefined;
        if (b.runAllowFail(&.{ "pkg-config", "--exists", "blitz" }, &code, .ignore)) |_| return null else |_| {}
        return "pkg-config does not find the C library of blitz-io (blitz): install it, or name its folder" ++ by_option;
    }
    return b.fmt("the C library of blitz-io for {s}-{s}-{s} is needed: name its folder" ++ by_option, .{
        @tagName(target.cpu.arch), @tagName(target.os.tag), @tagName(target.abi),
    });
}

const by_option = ": .@\"lib-dir\" in b.dependency(\"blitz_io\", ...) of your build.zig, or -Dlib-dir= in this package";

/// Returns `true` if programs for the target run on this machine, and can use its libraries.
fn isHost(b: *std.Build, target: std.Target) bool {
    const host = b.graph.host.result;
    return host.cpu.arch == target.cpu.arch and host.os.tag == target.os.tag and host.abi == target.abi;
}

/// Returns the name that Rust has for a target, or null if it is none that the library is for.
fn rustTarget(b: *std.Build, target: std.Target) ?[]const u8 {
    const arch = switch (target.cpu.arch) {
        .x86_64, .aarch64 => |arch| @tagName(arch),
        .riscv64 => "riscv64gc",
        .powerpc64le => "powerpc64le",
        .s390x => "s390x",
        .loongarch64 => "loongarch64",
        else => return null,
    };
    return switch (target.os.tag) {
        .linux => switch (target.abi) {
            .gnu, .musl => |abi| b.fmt("{s}-unknown-linux-{s}", .{ arch, @tagName(abi) }),
            else => null,
        },
        .macos => b.fmt("{s}-apple-darwin", .{arch}),
        .freebsd => b.fmt("{s}-unknown-freebsd", .{arch}),
        else => null,
    };
}

/// Builds the static C library with cargo, and returns its path.
///
/// cargo knows best what has changed, so it runs each time. The library is then copied to a path
/// that is named after its content, so that nothing is linked again if it is the same.
fn buildWithCargo(b: *std.Build, checkout: LazyPath, profile: []const u8, target: std.Target) LazyPath {
    const copy = b.addWriteFiles();
    const folder = if (std.mem.eql(u8, profile, "dev")) "debug" else profile;
    // The compiler's own target has no folder of its own.
    const triple = if (isHost(b, target)) null else rustTarget(b, target) orelse "";
    const library = checkout.path(b, b.pathJoin(&.{ "target/zig", triple orelse "", folder, "libblitz.a" }));
    const copied = copy.addCopyFile(library, "libblitz.a");

    const cargo = b.findProgram(.{ .names = &.{"cargo"} });
    if (missing(b, cargo) orelse missingTarget(b, target)) |message| {
        copy.step.dependOn(&b.addFail(message).step);
    } else {
        const run = b.addSystemCommand(&.{ cargo.?, "rustc", "--locked", "--package", "blitz-io-c" });
        run.addArgs(&.{ "--crate-type", "staticlib", "--profile", profile, "--target-dir" });
        run.addDirectoryArg(checkout.path(b, "target/zig"));
        if (triple) |name| run.addArgs(&.{ "--target", name });
        run.setCwd(checkout);
        run.has_side_effects = true;
        copy.step.dependOn(&run.step);
    }
    return copied;
}

const library_elsewhere = ", or name a folder with libblitz.a by -Dlib-dir=";

/// Returns the reason why `cargo` cannot build the library, or null.
fn missing(b: *std.Build, cargo: ?[]const u8) ?[]const u8 {
    const found_program = cargo orelse
        return "cargo is missing: install Rust (https://rustup.rs)" ++ library_elsewhere;
    const needed = rustVersion(b);
    var code: u8 = undefined;
    const answer = b.runAllowFail(&.{ found_program, "--version" }, &code, .ignore) catch
        return "\"cargo --version\" fails: install Rust (https://rustup.rs)" ++ library_elsewhere;
    // "cargo 1.85.0 (d73d2caf9 2024-12-31)"
    var words = std.mem.tokenizeScalar(u8, answer, ' ');
    _ = words.next();
    const found = words.next() orelse "of no version";
    const version = std.SemanticVersion.parse(std.mem.trimEnd(u8, found, "\n")) catch return null;
    if (version.order(needed) != .lt) return null;
    return b.fmt("cargo {s} is too old: blitz-io needs Rust {d}.{d}; update it (rustup update){s}", .{
        found, needed.major, needed.minor, library_elsewhere,
    });
}

/// Returns the reason why `cargo` cannot build the library for another target than its own, or null.
fn missingTarget(b: *std.Build, target: std.Target) ?[]const u8 {
    if (isHost(b, target)) return null;
    const name = rustTarget(b, target) orelse return b.fmt("no Rust target is known for {s}-{s}-{s}: choose another -Dtarget=" ++ library_elsewhere, .{
        @tagName(target.cpu.arch), @tagName(target.os.tag), @tagName(target.abi),
    });
    var code: u8 = undefined;
    const answer = b.runAllowFail(&.{ "rustc", "--print", "target-libdir", "--target", name }, &code, .ignore) catch
        return b.fmt("this Rust does not know the target {s}: update it (rustup update)" ++ library_elsewhere, .{name});
    std.Io.Dir.cwd().access(b.graph.io, std.mem.trimEnd(u8, answer, "\n"), .{}) catch return b.fmt(
        "Rust has no standard library for {s}: install it (rustup target add {s})" ++ library_elsewhere,
        .{ name, name },
    );
    return null;
}

/// Returns the version of Rust that the manifest of the checkout asks for.
fn rustVersion(b: *std.Build) std.SemanticVersion {
    const path = b.root.joinString(b.allocator, "../../Cargo.toml") catch @panic("OOM");
    const any: std.SemanticVersion = .{ .major = 1, .minor = 0, .patch = 0 };
    const manifest = std.Io.Dir.cwd().readFileAlloc(b.graph.io, path, b.allocator, .limited(1 << 20)) catch return any;
    const key = "\nrust-version = \"";
    const begin = (std.mem.find(u8, manifest, key) orelse return any) + key.len;
    const len = std.mem.findScalar(u8, manifest[begin..], '"') orelse return any;
    return std.SemanticVersion.parse(b.fmt("{s}.0", .{manifest[begin..][0..len]})) catch any;
}
