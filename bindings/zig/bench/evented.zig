//! `std.Io.Evented` as a peer: tasks are fibers, and system calls go through io_uring.
//!
//! `build.zig` compiles the file of the standard library as the module `evented`, as it does not
//! compile where it is.

const std = @import("std");
const builtin = @import("builtin");
const scenario = @import("scenario.zig");

/// `std.Io.Evented` exists for this target. It is measured on Linux only.
pub const is_supported = builtin.os.tag == .linux and std.Io.fiber.supported;

const Evented = @import("evented");

/// Runs a body in the main fiber of an implementation with this many threads.
///
/// The implementation can resume its main fiber in another thread, until it ends. So it begins in a
/// thread of its own.
pub fn run(body: scenario.Body, base: *const scenario.Context, workers: usize, counts: bool) !scenario.Counted {
    var main: Main = .{ .body = body, .cx = base.*, .workers = workers, .counts = counts };
    const thread = try std.Thread.spawn(.{}, Main.run, .{&main});
    thread.join();
    return main.result;
}

const Main = struct {
    body: scenario.Body,
    cx: scenario.Context,
    workers: usize,
    counts: bool,
    result: anyerror!scenario.Counted = undefined,

    fn run(main: *Main) void {
        main.result = main.inEvented();
    }

    fn inEvented(main: *Main) anyerror!scenario.Counted {
        var evented: Evented = undefined;
        try evented.init(main.cx.gpa, .{ .thread_limit = main.workers - 1 });
        defer evented.deinit();
        main.cx.io = evented.io();
        return scenario.run(main.body, &main.cx, main.counts);
    }
};
