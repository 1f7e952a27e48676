//! Files.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const Error = errors.Error;

/// An open file. Any thread or fiber may use it; a second call at the same time returns `error.Busy`.
/// Its functions suspend the calling fiber, or block the calling thread.
pub const File = struct {
    raw: *c.blitz_file,

    /// How a file is opened.
    pub const Options = struct {
        /// Opens for reading.
        read: bool = true,
        /// Opens for writing.
        write: bool = false,
        /// Each write goes to the end.
        append: bool = false,
        /// Makes the file empty.
        truncate: bool = false,
        /// Makes the file if there is none.
        create: bool = false,
        /// Makes the file, and returns `error.PathAlreadyExists` if there is one.
        exclusive: bool = false,
        /// The permissions of a new file, as far as the umask of the process allows.
        mode: u32 = 0o666,
    };

    /// Opens a file.
    pub fn open(path: [:0]const u8, options: Options) Error!File {
        var flags: u32 = 0;
        if (options.read) flags |= c.BLITZ_OPEN_READ;
        if (options.write) flags |= c.BLITZ_OPEN_WRITE;
        if (options.append) flags |= c.BLITZ_OPEN_APPEND;
        if (options.truncate) flags |= c.BLITZ_OPEN_TRUNCATE;
        if (options.create) flags |= c.BLITZ_OPEN_CREATE;
        if (options.exclusive) flags |= c.BLITZ_OPEN_CREATE_NEW;
        var file: File = undefined;
        try errors.check(Error, c.blitz_file_open(path, flags, options.mode, &file.raw));
        return file;
    }

    /// Makes an empty file for writing, or empties an existing file.
    pub fn create(path: [:0]const u8) Error!File {
        return open(path, .{ .read = false, .write = true, .create = true, .truncate = true });
    }

    /// Closes the file and frees it.
    pub fn deinit(file: *File) void {
        c.blitz_file_free(file.raw);
        file.* = undefined;
    }

    /// Reads some bytes at the position of the file, which moves on, and returns their number; 0 is the
    /// end of the file (if `buffer` is not empty).
    pub fn read(file: File, buffer: []u8) Error!usize {
        var count: usize = undefined;
        try errors.check(Error, c.blitz_file_read(file.raw, buffer.ptr, buffer.len, &count));
        return count;
    }

    /// Reads the rest of the file. The caller owns the memory. If there are more than `limit` bytes,
    /// returns `error.WrongSize`.
    pub fn readToEndAlloc(
        file: File,
        gpa: std.mem.Allocator,
        limit: usize,
    ) (Error || std.mem.Allocator.Error)![]u8 {
        var bytes: std.ArrayList(u8) = .empty;
        defer bytes.deinit(gpa);
        while (true) {
            try bytes.ensureUnusedCapacity(gpa, 4096);
            const count = try file.read(bytes.unusedCapacitySlice());
            if (count == 0) return bytes.toOwnedSlice(gpa);
            bytes.items.len += count;
            if (bytes.items.len > limit) return error.WrongSize;
        }
    }

    /// Writes all bytes at the position of the file, which moves on, and gives them to the system.
    /// After an error a part may have been written.
    pub fn writeAll(file: File, bytes: []const u8) Error!void {
        return errors.check(Error, c.blitz_file_write(file.raw, bytes.ptr, bytes.len));
    }

    /// From where a position counts.
    pub const Whence = enum(u32) {
        start = c.BLITZ_SEEK_SET,
        current = c.BLITZ_SEEK_CURRENT,
        end = c.BLITZ_SEEK_END,
    };

    /// Moves the position of the file, and returns it counted from the start.
    pub fn seek(file: File, offset: i64, whence: Whence) Error!u64 {
        var position: u64 = undefined;
        try errors.check(Error, c.blitz_file_seek(file.raw, offset, @backingInt(whence), &position));
        return position;
    }

    /// The parts of a file that `sync` waits for.
    pub const Sync = enum { data, data_and_metadata };

    /// Waits until the written bytes are on the disk.
    pub fn sync(file: File, what: Sync) Error!void {
        return errors.check(Error, c.blitz_file_sync(file.raw, what == .data_and_metadata));
    }

    /// Returns the length of the file in bytes.
    pub fn len(file: File) Error!u64 {
        var length: u64 = undefined;
        try errors.check(Error, c.blitz_file_len(file.raw, &length));
        return length;
    }

    /// Makes the file shorter, or longer with zeros.
    pub fn setLen(file: File, length: u64) Error!void {
        return errors.check(Error, c.blitz_file_set_len(file.raw, length));
    }
};

const testing = @import("testing.zig");

test File {
    const Shared = struct {
        path: [:0]const u8,

        fn work(shared: *const @This()) !void {
            try std.testing.expectError(error.FileNotFound, File.open(shared.path, .{}));
            var file = try File.open(shared.path, .{ .write = true, .create = true, .exclusive = true });
            defer file.deinit();
            try std.testing.expectError(
                error.PathAlreadyExists,
                File.open(shared.path, .{ .write = true, .exclusive = true }),
            );
            try file.writeAll("hello, file");
            try std.testing.expectEqual(11, file.len());
            try std.testing.expectEqual(7, file.seek(-4, .end));
            try file.setLen(10);
            try file.sync(.data_and_metadata);
            const rest = try file.readToEndAlloc(std.testing.allocator, 100);
            defer std.testing.allocator.free(rest);
            try std.testing.expectEqualStrings("fil", rest);
            _ = try file.seek(0, .start);
            try std.testing.expectError(error.WrongSize, file.readToEndAlloc(std.testing.allocator, 9));
        }
    };
    var folder = std.testing.tmpDir(.{});
    defer folder.cleanup();
    inline for (testing.flavours) |flavour| {
        var buffer: [256]u8 = undefined;
        const name = ".zig-cache/tmp/{s}/{t}";
        const shared: Shared = .{ .path = try std.fmt.bufPrintSentinel(&buffer, name, .{ folder.sub_path, flavour }, 0) };
        try testing.together(flavour, 1, Shared.work, .{&shared});
    }
}

test "a write that ends at once wakes its fiber, also if its worker is about to sleep" {
    const write = struct {
        fn write(path: [:0]const u8) !void {
            var file = try File.create(path);
            defer file.deinit();
            try file.writeAll("hello");
        }
    }.write;
    var folder = std.testing.tmpDir(.{});
    defer folder.cleanup();
    var buffer: [256]u8 = undefined;
    const path = try std.fmt.bufPrintSentinel(&buffer, ".zig-cache/tmp/{s}/file", .{folder.sub_path}, 0);
    for (0..50) |_| try testing.together(.fibers, 1, write, .{path});
}
