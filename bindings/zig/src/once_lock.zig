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
        value: T = undefined,

        const Self = @This();

        /// A lock without a value.
        pub const init: Self = .{};

        /// Returns the value, or null if it has not been set. Does not wait.
        pub inline fn get(once: *Self) ?*T {
            return if (@atomicLoad(u32, &once.raw.state, .acquire) == c.BLITZ_ONCE_DONE) &once.value else null;
        }

        /// Sets the value. If another caller is setting it, waits for that, and returns
        /// `error.AlreadySet` as for a value that was set before.
        pub fn set(once: *Self, value: T) error{AlreadySet}!void {
            if (!once.begin()) return error.AlreadySet;
            once.value = value;
            once.end();
        }

        /// Returns the value, after it has been set to what `make` returns if there was none. Other
        /// callers wait until then. `make` may wait, but must not use this lock.
        pub fn getOrInit(once: *Self, comptime make: anytype, args: std.meta.ArgsTuple(@TypeOf(make))) *T {
            if (once.get()) |value| return value;
            if (once.begin()) {
                once.value = @call(.auto, make, args);
                once.end();
            }
            return &once.value;
        }

        /// Returns `true` if the caller must set the value and then call `end`. Otherwise the value is set:
        /// this waits while another caller sets it.
        inline fn begin(once: *Self) bool {
            const before = @cmpxchgStrong(u32, &once.raw.state, 0, c.BLITZ_ONCE_RUNNING, .acquire, .acquire);
            if (before == null) return true;
            if (before != c.BLITZ_ONCE_DONE) errors.expectOk(c.blitz_once_call(&once.raw, nothing, null));
            return false;
        }

        /// The last use of `raw`: others may read the value, and end the life of this lock.
        inline fn end(once: *Self) void {
            const before = @atomicRmw(u32, &once.raw.state, .Xchg, c.BLITZ_ONCE_DONE, .release);
            if (before != c.BLITZ_ONCE_RUNNING)
                errors.expectOk(c.blitz_futex_wake_all(&once.raw.state, c.BLITZ_FUTEX_PRIVATE));
        }

        /// Does not run: another caller has begun.
        fn nothing(_: ?*anyopaque) callconv(.c) void {}
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
