//! Test: calls each entry of `std.Io` on our implementation, in a fiber and in a thread that is none.
//!
//! A table of entries that count their calls stands around ours. At the end each count must be above zero,
//! except for the entries that a list of exceptions names.

const std = @import("std");
const builtin = @import("builtin");
const Io = std.Io;
const Dir = Io.Dir;
const File = Io.File;
const net = Io.net;
const process = std.process;
const c = @import("../c.zig");
const entry = @import("entry.zig");
const vtable = @import("vtable.zig").vtable;
const Instance = @import("instance.zig").Instance;
const testing = std.testing;
const expect = testing.expect;
const expectEqual = testing.expectEqual;
const expectError = testing.expectError;

/// Entries that a thread cannot call: it has no cancel request that it could report again.
const only_in_fibers = [_][]const u8{"recancel"};

const Caller = enum { fiber, thread };
const Count = std.atomic.Value(usize);
var counts: std.enums.EnumArray(Caller, [entry.names.len]Count) = .initFill(@splat(.init(0)));

/// Our entries, each of which counts its calls before.
const counting: Io.VTable = make: {
    @setEvalBranchQuota(100_000);
    var made: Io.VTable = undefined;
    for (entry.names) |name| @field(made, name) = entry.of(name, count);
    break :make made;
};

fn count(comptime name: []const u8, userdata: ?*anyopaque, arguments: anytype) entry.Result(name) {
    const index = comptime for (entry.names, 0..) |other, i| {
        if (std.mem.eql(u8, name, other)) break i;
    } else unreachable;
    const caller: Caller = if (c.blitz_is_fiber()) .fiber else .thread;
    _ = counts.getPtr(caller)[index].fetchAdd(1, .monotonic);
    return @call(.auto, @field(vtable, name), .{userdata} ++ arguments);
}

/// The functions that call the entries, by area.
const calls = [_]*const fn (Io) anyerror!void{
    futures,       groups,     cancelation, futexes,         batches,       directories, paths,
    links,         attributes, files,       filesByPosition, copies,        fileLocks,   memoryMaps,
    standardError, processes,  thisProcess, inherited,       clocksAndDice, streams,     unixSockets,
    datagrams,     names,
};

fn callAll(io: Io) anyerror!void {
    for (calls) |function| try function(io);
}

test "each entry is called, in a fiber and in a thread" {
    var instance: Instance = .init(testing.allocator, .{});
    defer instance.deinit();
    const io: Io = .{ .userdata = &instance, .vtable = &counting };
    try callAll(io);
    var fiber = try io.concurrent(callAll, .{io});
    try fiber.await(io);

    var are_missing = false;
    for (std.enums.values(Caller)) |caller| {
        for (entry.names, counts.getPtrConst(caller)) |name, *calls_of| {
            if (calls_of.load(.monotonic) > 0) continue;
            if (caller == .thread and isIn(&only_in_fibers, name)) continue;
            std.debug.print("no {t} called {s}\n", .{ caller, name });
            are_missing = true;
        }
    }
    try expect(!are_missing);
}

fn isIn(list: []const []const u8, name: []const u8) bool {
    for (list) |other| {
        if (std.mem.eql(u8, name, other)) return true;
    }
    return false;
}

fn sum(a: u32, b: u32) u32 {
    return a + b;
}

fn forever(io: Io) Io.Cancelable!void {
    return io.sleep(.fromSeconds(1 << 30), .awake);
}

/// async, concurrent, await, cancel.
fn futures(io: Io) anyerror!void {
    var first = io.async(sum, .{ 1, 2 });
    var second = try io.concurrent(sum, .{ 3, 4 });
    try expectEqual(3, first.await(io));
    try expectEqual(7, second.cancel(io));
}

fn nothing() void {}

/// groupAsync, groupConcurrent, groupAwait, groupCancel.
fn groups(io: Io) anyerror!void {
    var group: Io.Group = .init;
    group.async(io, nothing, .{});
    try group.concurrent(io, nothing, .{});
    try group.await(io);
    try group.concurrent(io, forever, .{io});
    group.cancel(io);
}

fn report(io: Io) Io.Cancelable!void {
    forever(io) catch io.recancel();
    try io.checkCancel();
}

fn crash(io: Io) void {
    // The standard library calls this entry only when the program ends by a panic. The fiber reports no
    // request from then on.
    io.vtable.crashHandler(io.userdata);
}

/// recancel, checkCancel, swapCancelProtection, crashHandler.
fn cancelation(io: Io) anyerror!void {
    var reporting = try io.concurrent(report, .{io});
    try expectError(error.Canceled, reporting.cancel(io));
    try io.checkCancel();
    try expectEqual(.unblocked, io.swapCancelProtection(.blocked));
    _ = io.swapCancelProtection(.unblocked);
    var crashing = try io.concurrent(crash, .{io});
    crashing.await(io);
    if (!c.blitz_is_fiber()) crash(io);
}

/// futexWait, futexWaitUncancelable, futexWake.
fn futexes(io: Io) anyerror!void {
    const word: u32 = 7;
    try io.futexWaitTimeout(u32, &word, 7, .{ .duration = .{ .raw = .fromNanoseconds(1), .clock = .awake } });
    io.futexWaitUncancelable(u32, &word, 8);
    io.futexWake(u32, &word, 1);
}

/// batchAwaitAsync, batchAwaitConcurrent, batchCancel.
fn batches(io: Io) anyerror!void {
    var tmp = testing.tmpDir(.{});
    defer tmp.cleanup();
    const file = try tmp.dir.createFile(io, "a", .{ .read = true });
    defer file.close(io);
    var storage: [1]Io.Operation.Storage = undefined;
    var batch: Io.Batch = .init(&storage);
    defer batch.cancel(io);
    batch.addAt(0, .{ .file_write_streaming = .{ .file = file, .data = &.{"b"} } });
    try batch.awaitAsync(io);
    try expectEqual(1, try batch.next().?.result.file_write_streaming);
    batch.addAt(0, .{ .file_write_streaming = .{ .file = file, .data = &.{"c"} } });
    try batch.awaitConcurrent(io, .none);
    try expectEqual(1, try batch.next().?.result.file_write_streaming);
}

/// dirCreateDir, dirCreateDirPath, dirCreateDirPathOpen, dirOpenDir, dirStat, dirRead, dirClose, dirDeleteDir.
fn directories(io: Io) anyerror!void {
    var tmp = testing.tmpDir(.{});
    defer tmp.cleanup();
    try tmp.dir.createDir(io, "a", .default_dir);
    try expectEqual(.created, try tmp.dir.createDirPathStatus(io, "b/c", .default_dir));
    const opened = try tmp.dir.createDirPathOpen(io, "b/d", .{});
    opened.close(io);
    const b = try tmp.dir.openDir(io, "b", .{ .iterate = true });
    defer b.close(io);
    try expectEqual(.directory, (try b.stat(io)).kind);
    var entries = b.iterate();
    var found: usize = 0;
    while (try entries.next(io)) |_| found += 1;
    try expectEqual(2, found);
    try tmp.dir.deleteDir(io, "a");
    try expectError(error.FileNotFound, tmp.dir.deleteDir(io, "a"));
}

/// dirCreateFile, dirStatFile, dirAccess, dirOpenFile, dirRealPath, dirRealPathFile, dirRename,
/// dirRenamePreserve, dirDeleteFile, fileRealPath.
fn paths(io: Io) anyerror!void {
    var tmp = testing.tmpDir(.{});
    defer tmp.cleanup();
    try tmp.dir.writeFile(io, .{ .sub_path = "a", .data = "bytes" });
    try expectEqual(5, (try tmp.dir.statFile(io, "a", .{})).size);
    try tmp.dir.access(io, "a", .{});
    var of_dir: [Dir.max_path_bytes]u8 = undefined;
    var of_file: [Dir.max_path_bytes]u8 = undefined;
    const dir_path = of_dir[0..try tmp.dir.realPath(io, &of_dir)];
    const file_path = of_file[0..try tmp.dir.realPathFile(io, "a", &of_file)];
    try testing.expectStringStartsWith(file_path, dir_path);
    const file = try tmp.dir.openFile(io, "a", .{});
    defer file.close(io);
    var same: [Dir.max_path_bytes]u8 = undefined;
    try testing.expectEqualStrings(file_path, same[0..try file.realPath(io, &same)]);
    try tmp.dir.rename("a", tmp.dir, "b", io);
    try tmp.dir.renamePreserve("b", tmp.dir, "c", io);
    try tmp.dir.deleteFile(io, "c");
    try expectError(error.FileNotFound, tmp.dir.access(io, "c", .{}));
}

/// dirSymLink, dirReadLink, dirHardLink, fileHardLink, dirCreateFileAtomic.
fn links(io: Io) anyerror!void {
    var tmp = testing.tmpDir(.{});
    defer tmp.cleanup();
    try tmp.dir.writeFile(io, .{ .sub_path = "a", .data = "bytes" });
    try tmp.dir.symLink(io, "a", "symbolic", .{});
    var buffer: [8]u8 = undefined;
    try testing.expectEqualStrings("a", buffer[0..try tmp.dir.readLink(io, "symbolic", &buffer)]);
    try tmp.dir.hardLink("a", tmp.dir, "hard", io, .{});
    try expectEqual(2, (try tmp.dir.statFile(io, "hard", .{})).nlink);
    var atomic = try tmp.dir.createFileAtomic(io, "atomic", .{});
    defer atomic.deinit(io);
    const file = try tmp.dir.openFile(io, "a", .{});
    defer file.close(io);
    // Not every file system and every user may link a file that has no path.
    file.hardLink(io, tmp.dir, "again", .{ .follow_symlinks = false }) catch {};
    try atomic.link(io);
    try tmp.dir.access(io, "atomic", .{});
}

/// dirSetPermissions, dirSetFilePermissions, dirSetOwner, dirSetFileOwner, dirSetTimestamps.
fn attributes(io: Io) anyerror!void {
    var tmp = testing.tmpDir(.{ .iterate = true });
    defer tmp.cleanup();
    try tmp.dir.writeFile(io, .{ .sub_path = "a", .data = "" });
    try tmp.dir.symLink(io, "nowhere", "symbolic", .{});
    try tmp.dir.setPermissions(io, .default_dir);
    try tmp.dir.setFilePermissions(io, "a", .default_file, .{});
    try tmp.dir.setOwner(io, null, null);
    try tmp.dir.setFileOwner(io, "a", null, null, .{});
    try tmp.dir.setFileOwner(io, "a", std.c.getuid(), std.c.getgid(), .{});
    try tmp.dir.setFileOwner(io, "symbolic", null, null, .{ .follow_symlinks = false });
    try expectError(error.FileNotFound, tmp.dir.setFileOwner(io, "symbolic", null, null, .{}));
    try tmp.dir.setTimestamps(io, "a", .{ .modify_timestamp = .now });
}

/// operate, fileStat, fileLength, fileClose, fileSync, fileIsTty, fileEnableAnsiEscapeCodes,
/// fileSupportsAnsiEscapeCodes, fileSetLength, fileSetOwner, fileSetPermissions, fileSetTimestamps.
fn files(io: Io) anyerror!void {
    var tmp = testing.tmpDir(.{});
    defer tmp.cleanup();
    const file = try tmp.dir.createFile(io, "a", .{ .read = true });
    defer file.close(io);
    try file.writeStreamingAll(io, "bytes");
    try file.sync(io);
    try expectEqual(5, (try file.stat(io)).size);
    try expect(!try file.isTty(io));
    try expectError(error.NotTerminalDevice, file.enableAnsiEscapeCodes(io));
    try expect(!try file.supportsAnsiEscapeCodes(io));
    try file.setLength(io, 4);
    try expectEqual(4, try file.length(io));
    try file.setOwner(io, null, null);
    try file.setPermissions(io, .default_file);
    try file.setTimestamps(io, .{ .modify_timestamp = .now });
}

/// fileReadPositional, fileWritePositional, fileSeekBy, fileSeekTo.
fn filesByPosition(io: Io) anyerror!void {
    var tmp = testing.tmpDir(.{});
    defer tmp.cleanup();
    const file = try tmp.dir.createFile(io, "a", .{ .read = true });
    defer file.close(io);
    try file.writePositionalAll(io, "some bytes", 0);
    var buffer: [5]u8 = undefined;
    try expectEqual(5, try file.readPositionalAll(io, &buffer, 5));
    try testing.expectEqualStrings("bytes", &buffer);
    var reader = file.reader(io, &.{});
    reader.mode = .streaming;
    try reader.seekBy(5);
    try expectEqual(5, try reader.interface.readSliceShort(&buffer));
    try testing.expectEqualStrings("bytes", &buffer);
    try reader.seekTo(0);
    try reader.interface.readSliceAll(buffer[0..4]);
    try testing.expectEqualStrings("some", buffer[0..4]);
}

/// fileWriteFileStreaming, fileWriteFilePositional.
fn copies(io: Io) anyerror!void {
    var tmp = testing.tmpDir(.{});
    defer tmp.cleanup();
    try tmp.dir.writeFile(io, .{ .sub_path = "a", .data = "bytes" });
    const from = try tmp.dir.openFile(io, "a", .{});
    defer from.close(io);
    for ([_]bool{ false, true }) |is_streaming| {
        const to = try tmp.dir.createFile(io, "b", .{});
        defer to.close(io);
        var reader = from.reader(io, &.{});
        var buffer: [16]u8 = undefined;
        var writer = if (is_streaming) to.writerStreaming(io, &buffer) else to.writer(io, &buffer);
        try expectEqual(5, try reader.interface.streamRemaining(&writer.interface));
        try writer.interface.flush();
        var copied: [8]u8 = undefined;
        try testing.expectEqualStrings("bytes", try tmp.dir.readFile(io, "b", &copied));
    }
}

/// fileLock, fileTryLock, fileUnlock, fileDowngradeLock.
fn fileLocks(io: Io) anyerror!void {
    var tmp = testing.tmpDir(.{});
    defer tmp.cleanup();
    const one = try tmp.dir.createFile(io, "a", .{});
    defer one.close(io);
    const other = try tmp.dir.openFile(io, "a", .{});
    defer other.close(io);
    try one.lock(io, .exclusive);
    try expect(!try other.tryLock(io, .shared));
    try one.downgradeLock(io);
    try expect(try other.tryLock(io, .shared));
    other.unlock(io);
    one.unlock(io);
}

/// fileMemoryMapCreate, fileMemoryMapDestroy, fileMemoryMapSetLength, fileMemoryMapRead, fileMemoryMapWrite.
fn memoryMaps(io: Io) anyerror!void {
    var tmp = testing.tmpDir(.{});
    defer tmp.cleanup();
    const file = try tmp.dir.createFile(io, "a", .{ .read = true });
    defer file.close(io);
    try file.writeStreamingAll(io, "some bytes");
    var map = try file.createMemoryMap(io, .{ .len = 10 });
    defer map.destroy(io);
    try map.read(io);
    map.memory[0] = 'S';
    try map.write(io);
    var buffer: [10]u8 = undefined;
    try testing.expectEqualStrings("Some bytes", try tmp.dir.readFile(io, "a", &buffer));
    map.setLength(io, 4) catch |err| try expectEqual(error.OperationUnsupported, err);
}

/// lockStderr, tryLockStderr, unlockStderr.
fn standardError(io: Io) anyerror!void {
    var buffer: [8]u8 = undefined;
    _ = try io.lockStderr(&buffer, .no_color);
    // The lock belongs to this task already.
    try expect(try io.tryLockStderr(&buffer, .no_color) != null);
    io.unlockStderr();
    io.unlockStderr();
}

/// processSpawn, childWait, childKill, processReplace. `tests/replace.zig` replaces a process.
fn processes(io: Io) anyerror!void {
    var brief = try process.spawn(io, .{ .argv = &.{ "sh", "-c", "exit 3" } });
    try expectEqual(process.Child.Term{ .exited = 3 }, try brief.wait(io));
    var long = try process.spawn(io, .{ .argv = &.{ "sleep", "1000000" } });
    long.kill(io);
    try expectEqual(null, long.id);
    try expectEqual(error.FileNotFound, process.replace(io, .{ .argv = &.{"/no/such/program"} }));
}

/// processExecutableOpen, processExecutablePath, processCurrentPath, processSetCurrentDir,
/// processSetCurrentPath.
fn thisProcess(io: Io) anyerror!void {
    const executable = try process.openExecutable(io, .{});
    defer executable.close(io);
    var buffer: [Dir.max_path_bytes]u8 = undefined;
    var other: [Dir.max_path_bytes]u8 = undefined;
    const path = buffer[0..try process.executablePath(io, &buffer)];
    try testing.expectEqualStrings(path, other[0..try executable.realPath(io, &other)]);
    const before = buffer[0..try process.currentPath(io, &buffer)];
    const dir = try Dir.cwd().openDir(io, ".", .{});
    defer dir.close(io);
    try process.setCurrentPath(io, "/");
    try expectEqual(1, try process.currentPath(io, &other));
    try process.setCurrentDir(io, dir);
    try testing.expectEqualStrings(before, other[0..try process.currentPath(io, &other)]);
}

/// progressParentFile, inheritParentDir, inheritParentFile. No function of the standard library calls the
/// last two, and only the start of the program's progress display the first one.
fn inherited(io: Io) anyerror!void {
    try expectError(error.EnvironmentVariableMissing, io.vtable.progressParentFile(io.userdata));
    var tmp = testing.tmpDir(.{});
    defer tmp.cleanup();
    try expectEqual(tmp.dir.handle, (try io.vtable.inheritParentDir(io.userdata, tmp.dir.handle)).handle);
    const file = try tmp.dir.createFile(io, "a", .{});
    defer file.close(io);
    try expectEqual(file.handle, (try io.vtable.inheritParentFile(io.userdata, file.handle, file.flags)).handle);
}

/// now, clockResolution, sleep, random, randomSecure.
fn clocksAndDice(io: Io) anyerror!void {
    const before: Io.Timestamp = .now(io, .awake);
    try io.sleep(.fromNanoseconds(1), .awake);
    try expect(before.untilNow(io, .awake).toNanoseconds() > 0);
    try expect((try Io.Clock.resolution(.awake, io)).toNanoseconds() > 0);
    var one: [32]u8 = undefined;
    var other: [32]u8 = undefined;
    io.random(&one);
    try io.randomSecure(&other);
    try expect(!std.mem.eql(u8, &one, &other));
}

/// netListenIp, netAccept, netConnectIp, netWriteFile, netShutdown, netClose.
fn streams(io: Io) anyerror!void {
    const loopback: net.IpAddress = .{ .ip4 = .loopback(0) };
    var server = try loopback.listen(io, .{});
    defer server.deinit(io);
    const client = try server.socket.address.connect(io, .{ .mode = .stream });
    defer client.close(io);
    const accepted = try server.accept(io);
    defer accepted.close(io);

    var tmp = testing.tmpDir(.{});
    defer tmp.cleanup();
    try tmp.dir.writeFile(io, .{ .sub_path = "a", .data = "bytes" });
    const file = try tmp.dir.openFile(io, "a", .{});
    defer file.close(io);
    var of_file: [16]u8 = undefined;
    var from = file.reader(io, &of_file);
    var of_client: [16]u8 = undefined;
    var writer = client.writer(io, &of_client);
    try expectEqual(5, try from.interface.streamRemaining(&writer.interface));
    try writer.interface.flush();
    try client.shutdown(io, .send);

    var buffer: [16]u8 = undefined;
    var reader = accepted.reader(io, &buffer);
    try testing.expectEqualStrings("bytes", try reader.interface.take(5));
    try expectError(error.EndOfStream, reader.interface.takeByte());
}

/// netListenUnix, netConnectUnix.
fn unixSockets(io: Io) anyerror!void {
    var tmp = testing.tmpDir(.{});
    defer tmp.cleanup();
    var of_dir: [Dir.max_path_bytes]u8 = undefined;
    var of_path: [Dir.max_path_bytes]u8 = undefined;
    const dir_path = of_dir[0..try tmp.dir.realPath(io, &of_dir)];
    const path = try std.mem.print(&of_path, "/tmp/{s}", .{std.fs.path.basename(dir_path)});
    defer Dir.cwd().deleteFile(io, path) catch {};
    const address: net.UnixAddress = try .init(path);
    var server = try address.listen(io, .{});
    defer server.deinit(io);
    const client = try address.connect(io);
    defer client.close(io);
    const accepted = try server.accept(io);
    accepted.close(io);
}

/// netBindIp, netSocketCreatePair.
fn datagrams(io: Io) anyerror!void {
    const loopback: net.IpAddress = .{ .ip4 = .loopback(0) };
    const one = try loopback.bind(io, .{ .mode = .dgram });
    defer one.close(io);
    try one.send(io, &one.address, "bytes");
    var buffer: [16]u8 = undefined;
    try testing.expectEqualStrings("bytes", (try one.receive(io, &buffer)).data);
    // Systems have pairs of Unix sockets only, which the options cannot name; so no call succeeds.
    const pair = net.Socket.createPair(io, .{ .mode = .dgram, .protocol = .tcp });
    try expectError(error.ProtocolUnsupportedByAddressFamily, pair);
}

/// netInterfaceNameResolve, netInterfaceName, netLookup.
fn names(io: Io) anyerror!void {
    const expected: net.Interface.Name = try .fromSlice(if (builtin.os.tag == .linux) "lo" else "lo0");
    const interface = try expected.resolve(io);
    const found = try interface.name(io);
    try testing.expectEqualStrings(expected.toSlice(), found.toSlice());
    const none: net.Interface = .{ .index = std.math.maxInt(@FieldType(net.Interface, "index")) };
    try expectError(error.InterfaceNotFound, none.name(io));

    var results: [16]net.HostName.LookupResult = undefined;
    var queue: Io.Queue(net.HostName.LookupResult) = .init(&results);
    try net.HostName.lookup(try .init("localhost"), io, &queue, .{ .port = 80 });
    _ = try queue.getOne(io);
}
