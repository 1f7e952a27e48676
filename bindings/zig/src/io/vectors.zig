//! The pieces of a read or a write as one list for the system.

const std = @import("std");
const posix = std.posix;

/// Puts the buffers of a read into the list, as far as it has room. Returns the length of the list.
pub fn ofBuffers(list: *[Vectors.max]posix.iovec, data: []const []u8) usize {
    var len: usize = 0;
    for (data) |buffer| {
        if (len == list.len) break;
        if (buffer.len == 0) continue;
        list[len] = .{ .base = buffer.ptr, .len = buffer.len };
        len += 1;
    }
    return len;
}

/// The pieces of a write.
pub const Vectors = struct {
    /// The most pieces.
    pub const max = 16;

    list: [max]posix.iovec_const = undefined,
    len: usize = 0,
    /// The last piece, several times, if it is one byte.
    repeated: [256]u8 = undefined,

    /// Adds the header, all pieces, and the last piece `splat` times, as far as the list has room. The
    /// vectors must not be moved afterwards.
    pub fn addAll(vectors: *Vectors, header: []const u8, data: []const []const u8, splat: usize) void {
        vectors.add(header);
        for (data[0 .. data.len - 1]) |bytes| vectors.add(bytes);
        const last = data[data.len - 1];
        if (last.len == 1 and splat > 1) return vectors.repeat(last[0], splat);
        for (0..@min(splat, max - vectors.len)) |_| vectors.add(last);
    }

    fn repeat(vectors: *Vectors, byte: u8, splat: usize) void {
        @memset(&vectors.repeated, byte);
        var left = splat;
        while (left > 0 and vectors.len < max) {
            const len = @min(left, vectors.repeated.len);
            vectors.add(vectors.repeated[0..len]);
            left -= len;
        }
    }

    fn add(vectors: *Vectors, bytes: []const u8) void {
        // The system refuses an address that is not valid, even without bytes.
        if (bytes.len == 0 or vectors.len == max) return;
        vectors.list[vectors.len] = .{ .base = bytes.ptr, .len = bytes.len };
        vectors.len += 1;
    }
};
