//! Reads and writes of files that do not wait: of pipes, and of pages in the page cache.
//!
//! Only Linux has them, and not for all files: not for terminals, for instance.

const std = @import("std");
const builtin = @import("builtin");
const Io = std.Io;
const linux = std.os.linux;
const posix = std.posix;
const vectors = @import("vectors.zig");
const Vectors = vectors.Vectors;

/// Does a read or a write of a file. Returns null, and has done nothing, if it would wait, if the system
/// refuses to do it without waiting, or after an error.
pub fn operate(operation: Io.Operation) ?Io.Operation.Result {
    if (builtin.os.tag != .linux) return null;
    switch (operation) {
        .file_read_streaming => |o| {
            var buffers: [Vectors.max]posix.iovec = undefined;
            const count = vectors.ofBuffers(&buffers, o.data);
            if (count == 0) return null;
            const len = transferred(linux.preadv2(o.file.handle, &buffers, count, position, linux.RWF.NOWAIT)) orelse
                return null;
            return .{ .file_read_streaming = if (len == 0) error.EndOfStream else len };
        },
        .file_write_streaming => |o| {
            var pieces: Vectors = .{};
            pieces.addAll(o.header, o.data, o.splat);
            if (pieces.len == 0) return null;
            const len = transferred(linux.pwritev2(o.file.handle, &pieces.list, pieces.len, position, linux.RWF.NOWAIT)) orelse
                return null;
            return .{ .file_write_streaming = len };
        },
        else => return null,
    }
}

/// The file's own position.
const position = -1;

fn transferred(result: usize) ?usize {
    return if (linux.errno(result) == .SUCCESS) result else null;
}
