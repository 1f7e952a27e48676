//! A value that is set once.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");

/// A value that is set once. Threads and fibers may use one together.
///
/// It allocates nothing; do not copy or move it after its first use. It does not end the life of
/// the value: if the value needs that, call its `deinit` with what `get` returns.
///
/// ```zig
/// var config: OnceLock(Config) = .init;
/// const value = config.getOrInit(Config.load, .{});
/// ```
pub fn OnceLock(comptime T: type) type {
    return struct {
        raw: c.blitz_once = .{},
        /// Stored with release ordering after the value, so that `get` needs no call.
        is_set: std.atomic.Value(bool) = .init(false),
        value: T = undefined,

        const Self = @This();

        /// A lock without a value.
        pub const init: Self = .{};

        /// Returns the value, or null if it has not been set. Does not wait.
        pub fn get(once: *Self) ?*T {
            return if (once.is_set.load(.acquire)) &once.value else null;
        }

        fn store(once: *Self, value: T) void {
            once.value = value;
            once.is_set.store(true, .release);
        }

        /// Sets the value. If another caller is setting it, waits for that, and returns
        /// `error.AlreadySet` as for a value that is there.
        pub fn set(once: *Self, value: T) error{AlreadySet}!void {
            var call: Set = .{ .once = once, .value = value };
            errors.expectOk(c.blitz_once_call(&once.raw, Set.run, &call));
            if (!call.did_run) return error.AlreadySet;
        }

        /// Returns the value, after it has been set to what `make` returns if there was none. Other
        /// callers wait meanwhile. `make` may wait, but must not use this lock.
        pub fn getOrInit(once: *Self, comptime make: anytype, args: std.meta.ArgsTuple(@TypeOf(make))) *T {
            const Make = struct {
                once: *Self,
                args: @TypeOf(args),

                fn run(argument: ?*anyopaque) callconv(.c) void {
                    const call: *@This() = @ptrCast(@alignCast(argument.?));
                    call.once.store(@call(.auto, make, call.args));
                }
            };
            if (once.get()) |value| return value;
            var call: Make = .{ .once = once, .args = args };
            errors.expectOk(c.blitz_once_call(&once.raw, Make.run, &call));
            return &once.value;
        }

        const Set = struct {
            once: *Self,
            value: T,
            did_run: bool = false,

            fn run(argument: ?*anyopaque) callconv(.c) void {
                const call: *Set = @ptrCast(@alignCast(argument.?));
                call.once.store(call.value);
                call.did_run = true;
            }
        };
    };
}

const testing = @import("testing.zig");

test OnceLock {
    var once: OnceLock([]const u8) = .init;
    try std.testing.expectEqual(null, once.get());
    try once.set("first");
    try std.testing.expectError(error.AlreadySet, once.set("second"));
    try std.testing.expectEqualStrings("first", once.get().?.*);
}

test "one of many makes the value" {
    const Shared = struct {
        once: OnceLock(usize) = .init,
        made: std.atomic.Value(usize) = .init(0),

        fn make(shared: *@This()) usize {
            testing.yield() catch {};
            return shared.made.fetchAdd(1, .monotonic) + 7;
        }

        fn work(shared: *@This()) !void {
            try std.testing.expectEqual(7, shared.once.getOrInit(make, .{shared}).*);
        }
    };
    inline for (testing.flavours) |flavour| {
        var shared: Shared = .{};
        try testing.together(flavour, 4, Shared.work, .{&shared});
        try std.testing.expectEqual(1, shared.made.load(.monotonic));
    }
}
