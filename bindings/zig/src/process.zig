//! Child processes.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const Deadline = @import("deadline.zig").Deadline;
const Stream = @import("net/stream.zig").Stream;
const Error = errors.Error;

/// The kind of one of the standard streams of a child.
pub const Stdio = enum(u32) {
    /// The stream of its parent.
    inherit = c.BLITZ_STDIO_INHERIT,
    /// It reads nothing, or the system drops its output.
    ignore = c.BLITZ_STDIO_NULL,
    /// The parent gets the other end: `Child.takeStream`.
    pipe = c.BLITZ_STDIO_PIPE,
};

/// Settings of a child process. All texts are copied.
pub const Options = struct {
    /// The program: a path, or a name that is looked up in `PATH`.
    program: [:0]const u8,
    /// The arguments after the name of the program.
    arguments: [:null]const ?[*:0]const u8 = &.{},
    /// The environment as texts "NAME=value". Null: that of this process.
    environment: ?[:null]const ?[*:0]const u8 = null,
    /// The working directory. Null: that of this process.
    directory: ?[:0]const u8 = null,
    stdin: Stdio = .inherit,
    stdout: Stdio = .inherit,
    stderr: Stdio = .inherit,
    /// If true, `Child.deinit` kills a child that has not ended.
    kill_on_deinit: bool = false,
};

/// A child process. Any thread or fiber may use it; a second call at the same time returns
/// `error.Busy`.
pub const Child = struct {
    raw: *c.blitz_process,

    /// Starts a child process.
    pub fn spawn(options: Options) Error!Child {
        const settings: c.blitz_process_settings = .{
            .program = options.program.ptr,
            .arguments = options.arguments.ptr,
            .environment = if (options.environment) |environment| environment.ptr else null,
            .directory = if (options.directory) |directory| directory.ptr else null,
            .input = @backingInt(options.stdin),
            .output = @backingInt(options.stdout),
            .@"error" = @backingInt(options.stderr),
            .kill_on_free = options.kill_on_deinit,
        };
        var child: Child = undefined;
        try errors.check(Error, c.blitz_process_spawn(&settings, &child.raw));
        return child;
    }

    /// Frees the child. If it has not ended it keeps running, or is killed with `kill_on_deinit`; the
    /// library awaits its end in the background.
    pub fn deinit(child: *Child) void {
        c.blitz_process_free(child.raw);
        child.* = undefined;
    }

    /// How a child has ended.
    pub const Exit = union(enum) {
        /// It returned this status.
        status: u8,
        /// This signal killed it.
        signal: u8,
    };

    /// Waits until the child has ended, until the deadline at most. Closes the pipe to its standard
    /// input before, if that was not taken.
    pub fn wait(child: Child, deadline: Deadline) Error!Exit {
        var status: c_int = undefined;
        try errors.check(Error, c.blitz_process_wait(child.raw, deadline.ns(), &status));
        const bits: u32 = @bitCast(status);
        const signal = bits & 0x7f;
        if (signal != 0) return .{ .signal = @intCast(signal) };
        return .{ .status = @intCast((bits >> 8) & 0xff) };
    }

    /// Returns the number of the child; null if it was waited for, or if another call uses it.
    pub fn id(child: Child) ?u32 {
        const number = c.blitz_process_id(child.raw);
        return if (number == 0) null else number;
    }

    /// Kills the child. Does not wait.
    pub fn kill(child: Child) Error!void {
        return errors.check(Error, c.blitz_process_kill(child.raw));
    }

    /// The standard streams of a child.
    pub const Standard = enum(u32) { stdin = 0, stdout = 1, stderr = 2 };

    /// Takes the other end of a standard stream that was started with `Stdio.pipe`. The caller owns
    /// the stream. Returns `error.InvalidArgument` if there is none or it was taken.
    pub fn takeStream(child: Child, which: Standard) Error!Stream {
        var stream: Stream = undefined;
        try errors.check(Error, c.blitz_process_take_stream(child.raw, @backingInt(which), &stream.raw));
        return stream;
    }
};

const testing = @import("testing.zig");

test Child {
    const work = struct {
        fn work() !void {
            var child = try Child.spawn(.{ .program = "cat", .stdin = .pipe, .stdout = .pipe });
            defer child.deinit();
            try std.testing.expect(child.id() != null);
            {
                var input = try child.takeStream(.stdin);
                defer input.deinit();
                try input.writeAll("meow", .never);
            }
            var output = try child.takeStream(.stdout);
            defer output.deinit();
            var buffer: [4]u8 = undefined;
            try output.readExact(&buffer, .never);
            try std.testing.expectEqualStrings("meow", &buffer);
            try std.testing.expectEqual(Child.Exit{ .status = 0 }, try child.wait(.never));
            try std.testing.expectError(error.InvalidArgument, child.takeStream(.stderr));
        }
    }.work;
    inline for (testing.flavours) |flavour| try testing.together(flavour, 2, work, .{});
}

test "a child that is killed tells the signal" {
    var child = try Child.spawn(.{ .program = "sleep", .arguments = &.{"1000"} });
    defer child.deinit();
    try std.testing.expectError(error.TimedOut, child.wait(.passed));
    try child.kill();
    try std.testing.expectEqual(Child.Exit{ .signal = 9 }, try child.wait(.never));
    try std.testing.expectError(error.FileNotFound, Child.spawn(.{ .program = "/no/such/program" }));
}
