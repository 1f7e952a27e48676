//! Streams of bytes: connections of TCP and of Unix sockets, and pipes to child processes.

const std = @import("std");
const c = @import("../c.zig");
const errors = @import("../errors.zig");
const Address = @import("address.zig").Address;
const Deadline = @import("../deadline.zig").Deadline;
const Error = errors.Error;

/// A stream of bytes. Any thread or fiber may use it: one may read while another writes; two readers
/// at the same time share the bytes.
pub const Stream = struct {
    raw: *c.blitz_stream,

    /// Connects to a host with a port, such as "example.org:80" or "[::1]:80", until the deadline at
    /// most. Tries the addresses of a name in their order.
    pub fn connect(host: [:0]const u8, deadline: Deadline) Error!Stream {
        var stream: Stream = undefined;
        try errors.check(Error, c.blitz_tcp_connect(host, deadline.ns(), &stream.raw));
        return stream;
    }

    /// Connects to an address, until the deadline at most.
    pub fn connectAddress(address: Address, deadline: Deadline) Error!Stream {
        var stream: Stream = undefined;
        try errors.check(Error, c.blitz_tcp_connect_address(&address.raw, deadline.ns(), &stream.raw));
        return stream;
    }

    /// Connects to a Unix socket at a path, until the deadline at most.
    pub fn connectUnix(path: [:0]const u8, deadline: Deadline) Error!Stream {
        var stream: Stream = undefined;
        try errors.check(Error, c.blitz_unix_connect(path, deadline.ns(), &stream.raw));
        return stream;
    }

    /// Makes two streams that are connected to each other.
    pub fn pair() Error![2]Stream {
        var streams: [2]Stream = undefined;
        try errors.check(Error, c.blitz_unix_pair(&streams[0].raw, &streams[1].raw));
        return streams;
    }

    /// Closes the stream and frees it.
    pub fn deinit(stream: *Stream) void {
        c.blitz_stream_free(stream.raw);
        stream.* = undefined;
    }

    /// Receives some bytes, waiting until there are some, and returns their number; 0 is the end of the
    /// stream (if `buffer` is not empty).
    pub fn read(stream: Stream, buffer: []u8) Error!usize {
        var count: usize = undefined;
        try errors.check(Error, c.blitz_stream_read(stream.raw, buffer.ptr, buffer.len, &count));
        return count;
    }

    /// Receives some bytes, waiting until the deadline at most.
    pub fn readUntil(stream: Stream, buffer: []u8, deadline: Deadline) Error!usize {
        var count: usize = undefined;
        const result = c.blitz_stream_read_until(stream.raw, buffer.ptr, buffer.len, deadline.ns(), &count);
        try errors.check(Error, result);
        return count;
    }

    /// Receives the bytes that have arrived, or returns `error.WouldBlock`.
    pub fn tryRead(stream: Stream, buffer: []u8) Error!usize {
        var count: usize = undefined;
        try errors.check(Error, c.blitz_stream_try_read(stream.raw, buffer.ptr, buffer.len, &count));
        return count;
    }

    /// Fills the buffer, waiting until the deadline at most. If the stream ends before, returns
    /// `error.EndOfStream`.
    pub fn readExact(stream: Stream, buffer: []u8, deadline: Deadline) Error!void {
        const result = c.blitz_stream_read_exact(stream.raw, buffer.ptr, buffer.len, deadline.ns(), null);
        return errors.check(Error, result);
    }

    /// Sends some bytes, waiting until there is room for some, and returns their number.
    pub fn write(stream: Stream, bytes: []const u8) Error!usize {
        var count: usize = undefined;
        try errors.check(Error, c.blitz_stream_write(stream.raw, bytes.ptr, bytes.len, &count));
        return count;
    }

    /// Sends some bytes, waiting until the deadline at most, and returns their number.
    pub fn writeUntil(stream: Stream, bytes: []const u8, deadline: Deadline) Error!usize {
        var count: usize = undefined;
        const result = c.blitz_stream_write_until(stream.raw, bytes.ptr, bytes.len, deadline.ns(), &count);
        try errors.check(Error, result);
        return count;
    }

    /// Sends all bytes, waiting until the deadline at most. After an error a part may have been sent.
    pub fn writeAll(stream: Stream, bytes: []const u8, deadline: Deadline) Error!void {
        const result = c.blitz_stream_write_all(stream.raw, bytes.ptr, bytes.len, deadline.ns(), null);
        return errors.check(Error, result);
    }

    /// Sends as many bytes as there is room for, or returns `error.WouldBlock`.
    pub fn tryWrite(stream: Stream, bytes: []const u8) Error!usize {
        var count: usize = undefined;
        try errors.check(Error, c.blitz_stream_try_write(stream.raw, bytes.ptr, bytes.len, &count));
        return count;
    }

    /// Directions of a stream.
    pub const Direction = enum(u32) {
        receive = c.BLITZ_SHUTDOWN_READ,
        send = c.BLITZ_SHUTDOWN_WRITE,
        both = c.BLITZ_SHUTDOWN_READ | c.BLITZ_SHUTDOWN_WRITE,
    };

    /// Ends one or both directions of a socket. Calls that wait for the stream return.
    pub fn shutdown(stream: Stream, how: Direction) Error!void {
        return errors.check(Error, c.blitz_stream_shutdown(stream.raw, @backingInt(how)));
    }

    /// Lets a connection of TCP send small parts at once (true), or collect them (false, the default
    /// of the system).
    pub fn setNoDelay(stream: Stream, no_delay: bool) Error!void {
        return errors.check(Error, c.blitz_stream_set_nodelay(stream.raw, no_delay));
    }

    /// Returns the address of this side of a connection of TCP.
    pub fn localAddress(stream: Stream) Error!Address {
        var address: Address = undefined;
        try errors.check(Error, c.blitz_stream_addresses(stream.raw, &address.raw, null));
        return address;
    }

    /// Returns the address of the other side of a connection of TCP.
    pub fn peerAddress(stream: Stream) Error!Address {
        var address: Address = undefined;
        try errors.check(Error, c.blitz_stream_addresses(stream.raw, null, &address.raw));
        return address;
    }

    /// Returns the descriptor, for options of the system. The stream keeps it: do not close it.
    pub fn fd(stream: Stream) std.posix.fd_t {
        return c.blitz_stream_fd(stream.raw);
    }

    /// Returns a reader with a buffer, for formats and lines.
    pub fn reader(stream: Stream, buffer: []u8) Reader {
        return .{ .stream = stream, .interface = .{
            .vtable = &.{ .stream = Reader.streamTo },
            .buffer = buffer,
            .seek = 0,
            .end = 0,
        } };
    }

    /// Returns a writer with a buffer. Call `interface.flush` at the end.
    pub fn writer(stream: Stream, buffer: []u8) Writer {
        return .{ .stream = stream, .interface = .{
            .vtable = &.{ .drain = Writer.drain },
            .buffer = buffer,
        } };
    }

    /// A reader of a stream.
    pub const Reader = struct {
        stream: Stream,
        interface: std.Io.Reader,
        /// The error behind `error.ReadFailed`.
        err: ?Error = null,

        fn streamTo(
            interface: *std.Io.Reader,
            to: *std.Io.Writer,
            limit: std.Io.Limit,
        ) std.Io.Reader.StreamError!usize {
            const self: *Reader = @alignCast(@fieldParentPtr("interface", interface));
            const buffer = limit.slice(try to.writableSliceGreedy(1));
            const count = self.stream.read(buffer) catch |err| {
                self.err = err;
                return error.ReadFailed;
            };
            if (count == 0 and buffer.len > 0) return error.EndOfStream;
            to.advance(count);
            return count;
        }
    };

    /// A writer of a stream.
    pub const Writer = struct {
        stream: Stream,
        interface: std.Io.Writer,
        /// The error behind `error.WriteFailed`.
        err: ?Error = null,

        fn drain(
            interface: *std.Io.Writer,
            data: []const []const u8,
            splat: usize,
        ) std.Io.Writer.Error!usize {
            const self: *Writer = @alignCast(@fieldParentPtr("interface", interface));
            try self.send(interface.buffered());
            interface.end = 0;
            var count: usize = 0;
            for (data[0 .. data.len - 1]) |bytes| {
                try self.send(bytes);
                count += bytes.len;
            }
            const last = data[data.len - 1];
            for (0..splat) |_| try self.send(last);
            return count + splat * last.len;
        }

        fn send(self: *Writer, bytes: []const u8) std.Io.Writer.Error!void {
            if (bytes.len == 0) return;
            self.stream.writeAll(bytes, .never) catch |err| {
                self.err = err;
                return error.WriteFailed;
            };
        }
    };
};

test "a full stream is written until the deadline" {
    var streams = try Stream.pair();
    defer for (&streams) |*stream| stream.deinit();
    const bytes: [4096]u8 = @splat(1);
    const result = while (true) {
        _ = streams[0].writeUntil(&bytes, .passed) catch |err| break err;
    };
    try std.testing.expectEqual(error.TimedOut, result);
}

test Stream {
    var streams = try Stream.pair();
    defer for (&streams) |*stream| stream.deinit();
    var buffer: [16]u8 = undefined;
    try std.testing.expectError(error.WouldBlock, streams[0].tryRead(&buffer));
    try std.testing.expectError(error.TimedOut, streams[0].readUntil(&buffer, .passed));
    try std.testing.expectEqual(5, streams[1].write("hello"));
    try streams[0].readExact(buffer[0..5], .never);
    try std.testing.expectEqualStrings("hello", buffer[0..5]);
    try streams[1].shutdown(.send);
    try std.testing.expectEqual(0, streams[0].read(&buffer));
    try std.testing.expectError(error.EndOfStream, streams[0].readExact(&buffer, .never));
    try std.testing.expectError(error.BrokenPipe, streams[1].writeAll("more", .never));
    try std.testing.expectError(error.InvalidArgument, streams[0].setNoDelay(true));
}

test "lines and formats go through a reader and a writer" {
    var streams = try Stream.pair();
    defer for (&streams) |*stream| stream.deinit();
    var out: [8]u8 = undefined;
    var writer = streams[0].writer(&out);
    try writer.interface.print("{d} is longer than the buffer\n", .{12345});
    try writer.interface.splatByteAll('-', 20);
    try writer.interface.flush();
    try streams[0].shutdown(.send);

    var in: [64]u8 = undefined;
    var reader = streams[1].reader(&in);
    try std.testing.expectEqualStrings(
        "12345 is longer than the buffer",
        (try reader.interface.takeDelimiter('\n')).?,
    );
    try std.testing.expectEqualStrings("--------------------", (try reader.interface.takeDelimiter('\n')).?);
    try std.testing.expectEqual(null, try reader.interface.takeDelimiter('\n'));
}
