//! Memory for a task: a header, then a copy of its context, then room for its result.

const std = @import("std");
const Alignment = std.mem.Alignment;

/// A task in one allocation, which begins with a `Header`.
pub fn Closure(comptime Header: type) type {
    return struct {
        const Self = @This();

        header: Header,
        context_offset: usize,
        result_offset: usize,
        allocated: usize,

        /// Allocates a closure, and copies the context into it.
        pub fn create(
            gpa: std.mem.Allocator,
            header: Header,
            bytes: []const u8,
            context_alignment: Alignment,
            result_len: usize,
            result_alignment: Alignment,
        ) std.mem.Allocator.Error!*Self {
            // The allocation is aligned for the header only, so there is room to align the rest.
            const slack = context_alignment.toByteUnits() + result_alignment.toByteUnits();
            const allocated = @sizeOf(Self) + bytes.len + result_len + slack;
            const memory = try gpa.alignedAlloc(u8, .of(Self), allocated);
            const base = @intFromPtr(memory.ptr);
            const context_address = context_alignment.forward(base + @sizeOf(Self));
            const result_address = result_alignment.forward(context_address + bytes.len);
            const self: *Self = @ptrCast(memory.ptr);
            self.* = .{
                .header = header,
                .context_offset = context_address - base,
                .result_offset = result_address - base,
                .allocated = allocated,
            };
            @memcpy(self.context()[0..bytes.len], bytes);
            return self;
        }

        /// Frees the closure.
        pub fn destroy(self: *Self, gpa: std.mem.Allocator) void {
            const base: [*]align(@alignOf(Self)) u8 = @ptrCast(self);
            gpa.free(base[0..self.allocated]);
        }

        /// Returns the copy of the context.
        pub fn context(self: *Self) [*]u8 {
            const base: [*]u8 = @ptrCast(self);
            return base + self.context_offset;
        }

        /// Returns the room for the result.
        pub fn result(self: *Self) [*]u8 {
            const base: [*]u8 = @ptrCast(self);
            return base + self.result_offset;
        }
    };
}
