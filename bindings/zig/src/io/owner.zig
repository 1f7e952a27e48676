//! The owner of the file at a path. In Zig 0.17 the standard implementation has a panic there.

const std = @import("std");
const builtin = @import("builtin");
const Io = std.Io;
const Dir = Io.Dir;
const File = Io.File;
const posix = std.posix;
const cancel = @import("cancel.zig");
const forward = @import("forward.zig");

/// `dirSetFileOwner` of `std.Io`.
pub fn set(
    userdata: ?*anyopaque,
    dir: Dir,
    sub_path: []const u8,
    owner: ?File.Uid,
    group: ?File.Gid,
    options: Dir.SetFileOwnerOptions,
) Dir.SetFileOwnerError!void {
    // As `dirSetOwner` of the standard implementation does.
    if (builtin.os.tag == .windows) return error.Unexpected;
    try cancel.check();
    return forward.inPool(.of(userdata), Dir.SetFileOwnerError!void, change, .{ dir, sub_path, owner, group, options });
}

/// Leaves an owner or a group as it is.
const unchanged: u32 = std.math.maxInt(u32);

fn change(
    dir: Dir,
    sub_path: []const u8,
    owner: ?File.Uid,
    group: ?File.Gid,
    options: Dir.SetFileOwnerOptions,
) Dir.SetFileOwnerError!void {
    var buffer: [posix.PATH_MAX]u8 = undefined;
    const path = try Io.Threaded.pathToPosix(sub_path, &buffer);
    const flags: u32 = if (options.follow_symlinks) 0 else posix.AT.SYMLINK_NOFOLLOW;
    while (true) {
        const result = posix.system.fchownat(dir.handle, path, owner orelse unchanged, group orelse unchanged, flags);
        switch (posix.errno(result)) {
            .SUCCESS => return,
            .INTR => {},
            .ACCES => return error.AccessDenied,
            .PERM => return error.PermissionDenied,
            .IO => return error.InputOutput,
            .LOOP => return error.SymLinkLoop,
            .NAMETOOLONG => return error.NameTooLong,
            .NOENT, .NOTDIR => return error.FileNotFound,
            .NOMEM => return error.SystemResources,
            .ROFS => return error.ReadOnlyFileSystem,
            .ILSEQ => return error.BadPathName,
            else => |err| return posix.unexpectedErrno(err),
        }
    }
}
