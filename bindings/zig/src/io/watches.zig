//! The sockets for which tasks have waited: each is registered once, and not for each wait.
//!
//! A table by descriptor. An entry begins with the first wait for a socket, and ends before the socket is
//! closed, in `netClose` or `fileClose`. A socket that is closed in another way leaves its entry behind, so
//! each entry of `std.Io` that makes a socket forgets the entry of its descriptor.

const std = @import("std");
const posix = std.posix;
const c = @import("../c.zig");
const Atomic = std.atomic.Value;

/// The registered sockets, by descriptor.
pub const Watches = struct {
    pages: [page_count]Atomic(?*Page) = @splat(.init(null)),

    const page_len = 1024;
    /// Sockets with larger numbers are registered for each wait.
    const page_count = 64;

    const Page = [page_len]Atomic(?*c.blitz_fd_watch);

    /// Returns the watch of a descriptor; null without memory, or for a number that is too large.
    pub fn get(watches: *Watches, gpa: std.mem.Allocator, fd: posix.fd_t) ?*c.blitz_fd_watch {
        const entry = watches.find(fd) orelse watches.make(gpa, fd) orelse return null;
        if (entry.load(.acquire)) |watch| return watch;
        var new: *c.blitz_fd_watch = undefined;
        if (c.blitz_fd_watch_new(fd, &new) != c.BLITZ_OK) return null;
        const other = entry.cmpxchgStrong(null, new, .acq_rel, .acquire) orelse return new;
        c.blitz_fd_watch_free(new);
        return other.?;
    }

    /// Ends the watch of a descriptor, if there is one. No task waits for the descriptor any more.
    pub fn forget(watches: *Watches, fd: posix.fd_t) void {
        const entry = watches.find(fd) orelse return;
        if (entry.load(.monotonic) == null) return;
        if (entry.swap(null, .acq_rel)) |watch| c.blitz_fd_watch_free(watch);
    }

    /// Ends all watches.
    pub fn deinit(watches: *Watches, gpa: std.mem.Allocator) void {
        for (&watches.pages) |*slot| {
            const page = slot.load(.acquire) orelse continue;
            for (page) |*entry| {
                if (entry.load(.acquire)) |watch| c.blitz_fd_watch_free(watch);
            }
            gpa.destroy(page);
        }
    }

    /// Returns the entry of a descriptor; null if it never had one.
    pub fn find(watches: *Watches, fd: posix.fd_t) ?*Atomic(?*c.blitz_fd_watch) {
        const number: usize = @intCast(fd);
        if (number >= page_len * page_count) return null;
        const page = watches.pages[number / page_len].load(.acquire) orelse return null;
        return &page[number % page_len];
    }

    fn make(watches: *Watches, gpa: std.mem.Allocator, fd: posix.fd_t) ?*Atomic(?*c.blitz_fd_watch) {
        const number: usize = @intCast(fd);
        if (number >= page_len * page_count) return null;
        const page = gpa.create(Page) catch return null;
        page.* = @splat(.init(null));
        const slot = &watches.pages[number / page_len];
        if (slot.cmpxchgStrong(null, page, .acq_rel, .acquire) != null) gpa.destroy(page);
        return watches.find(fd);
    }
};
