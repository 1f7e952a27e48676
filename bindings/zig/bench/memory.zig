//! Counts what the process allocates, in the library and in Zig: the functions here stand before those
//! of the system's library, and pass the requests on.

const std = @import("std");
const builtin = @import("builtin");

/// Allocations can be counted on this target.
pub const is_supported = builtin.target.isGnuLibC();

/// Requests for memory.
pub const Counts = struct {
    bytes: u64 = 0,
    allocations: u64 = 0,
};

var is_counting: std.atomic.Value(bool) = .init(false);
var bytes: std.atomic.Value(u64) = .init(0);
var allocations: std.atomic.Value(u64) = .init(0);

/// Begins to count, from 0.
pub fn begin() void {
    bytes.store(0, .monotonic);
    allocations.store(0, .monotonic);
    is_counting.store(true, .seq_cst);
}

/// Ends counting, and returns the counts.
pub fn end() Counts {
    is_counting.store(false, .seq_cst);
    return .{ .bytes = bytes.load(.monotonic), .allocations = allocations.load(.monotonic) };
}

fn note(len: usize) void {
    if (!is_counting.load(.monotonic)) return;
    _ = bytes.fetchAdd(len, .monotonic);
    _ = allocations.fetchAdd(1, .monotonic);
}

extern fn __libc_malloc(len: usize) ?*anyopaque;
extern fn __libc_calloc(count: usize, len: usize) ?*anyopaque;
extern fn __libc_realloc(old: ?*anyopaque, len: usize) ?*anyopaque;
extern fn __libc_memalign(alignment: usize, len: usize) ?*anyopaque;

fn malloc(len: usize) callconv(.c) ?*anyopaque {
    note(len);
    return __libc_malloc(len);
}

fn calloc(count: usize, len: usize) callconv(.c) ?*anyopaque {
    note(count *| len);
    return __libc_calloc(count, len);
}

fn realloc(old: ?*anyopaque, len: usize) callconv(.c) ?*anyopaque {
    note(len);
    return __libc_realloc(old, len);
}

fn alignedAlloc(alignment: usize, len: usize) callconv(.c) ?*anyopaque {
    note(len);
    return __libc_memalign(alignment, len);
}

fn posixMemalign(result: *?*anyopaque, alignment: usize, len: usize) callconv(.c) c_int {
    note(len);
    result.* = __libc_memalign(alignment, len) orelse return @backingInt(std.posix.E.NOMEM);
    return 0;
}

comptime {
    if (is_supported) {
        @export(&malloc, .{ .name = "malloc" });
        @export(&calloc, .{ .name = "calloc" });
        @export(&realloc, .{ .name = "realloc" });
        @export(&alignedAlloc, .{ .name = "aligned_alloc" });
        @export(&posixMemalign, .{ .name = "posix_memalign" });
    }
}
