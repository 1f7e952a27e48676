//! The C interface, as `blitz.h` declares it: the same names, the same order.
//!
//! The comments of `blitz.h` hold for each function: its units, its errors and who owns what. A
//! pointer is optional here if the function allows NULL. The rest of the package is typed over these
//! declarations; a program needs them only for functions that the package does not cover.

/// The ABI version of the library that these declarations are for.
pub const BLITZ_ABI_VERSION: u32 = 0;

/// The deadline that never comes: wait without a limit.
pub const BLITZ_NEVER: u64 = ~@as(u64, 0);
/// A capacity of a channel without a limit.
pub const BLITZ_UNBOUNDED: usize = ~@as(usize, 0);
/// The largest element, in bytes.
pub const BLITZ_ELEMENT_MAX: usize = 1 << 30;
/// The most words of `blitz_futex_wait_any`.
pub const BLITZ_FUTEX_ANY_MAX: usize = 128;
/// The most worker threads of a runtime.
pub const BLITZ_WORKERS_MAX: usize = 1024;
/// The most permits of a semaphore.
pub const BLITZ_SEMAPHORE_MAX: u32 = (1 << 29) - 1;
/// A permit in the first word of `space` of a semaphore.
pub const BLITZ_SEMAPHORE_PERMIT: usize = 4;
/// The lowest two bits of the first word of `space` of a parker with a token.
pub const BLITZ_PARKER_TOKEN: usize = 2;
/// The `state` of a `blitz_once` whose function runs, while no other call waits.
pub const BLITZ_ONCE_RUNNING: u32 = 1;
/// The `state` of a `blitz_once` whose function has run.
pub const BLITZ_ONCE_DONE: u32 = 3;
/// The smallest stack of a fiber, in bytes.
pub const BLITZ_STACK_MIN: usize = 16 * 1024;
/// The largest stack of a fiber, in bytes.
pub const BLITZ_STACK_MAX: usize = 1 << 30;

/// The `state` of an object by value that has been used.
pub const BLITZ_STATE_READY: u32 = 2;
/// The first word of `space` of a mutex that is free.
pub const BLITZ_MUTEX_FREE: usize = 4;
/// The first word of `space` of a reader-writer lock that is free.
pub const BLITZ_RWLOCK_FREE: usize = 2147483644;
/// A reader subtracts this from that word.
pub const BLITZ_RWLOCK_READER: usize = 4;

/// Success.
pub const BLITZ_OK: c_int = 0;
/// An argument is NULL, out of range, or does not fit to the state of the object.
pub const BLITZ_EINVAL: c_int = -1001;
/// The deadline passed.
pub const BLITZ_ETIMEDOUT: c_int = -1002;
/// The other side was freed or has ended, or the object was closed.
pub const BLITZ_ECLOSED: c_int = -1003;
/// The channel is full, or the segment has as many senders or receivers as it allows.
pub const BLITZ_EFULL: c_int = -1004;
/// The channel is empty.
pub const BLITZ_EEMPTY: c_int = -1005;
/// The operation would have to wait.
pub const BLITZ_EAGAIN: c_int = -1006;
/// A panic was caught inside the library. `blitz_last_error` has its text.
pub const BLITZ_EPANIC: c_int = -1007;
/// The fiber was cancelled, or its runtime shuts down.
pub const BLITZ_ECANCELED: c_int = -1008;
/// A receiver was too slow and missed values.
pub const BLITZ_ELAGGED: c_int = -1009;
/// The word does not hold the expected value.
pub const BLITZ_ECHANGED: c_int = -1010;
/// Another thread or fiber uses the object, which allows only one.
pub const BLITZ_EBUSY: c_int = -1011;
/// The value or the buffer is larger, or smaller, than the object allows.
pub const BLITZ_ESIZE: c_int = -1012;
/// The operating system lacks a feature that this needs.
pub const BLITZ_EUNSUPPORTED: c_int = -1013;
/// The object was made before a `fork`, and this is the child process.
pub const BLITZ_EFORKED: c_int = -1014;
/// The shared memory does not have the form that it must have.
pub const BLITZ_ECORRUPT: c_int = -1015;
/// Another participant died, and the operation cannot be completed without it.
pub const BLITZ_EBROKEN: c_int = -1016;
/// The library has another ABI version than these declarations.
pub const BLITZ_EABI: c_int = -1017;
/// The name is in use with other settings.
pub const BLITZ_EMISMATCH: c_int = -1018;
/// A callback of the caller reported a failure.
pub const BLITZ_ECALLBACK: c_int = -1019;
/// The end of the file or stream came before the buffer was full.
pub const BLITZ_EEOF: c_int = -1020;
/// The system's resolver has no address of the host, or does not work.
pub const BLITZ_EHOST: c_int = -1021;

/// An event stays set until it is reset, and lets all waiters go.
pub const BLITZ_EVENT_MANUAL: u32 = 0;
/// An event is reset by the one waiter that it lets go.
pub const BLITZ_EVENT_AUTO: u32 = 1;

/// The largest count of a latch.
pub const BLITZ_LATCH_MAX: u32 = 2147483647;

/// The word is used by the threads and fibers of one process.
pub const BLITZ_FUTEX_PRIVATE: u32 = 0;
/// The word is in memory that processes share.
pub const BLITZ_FUTEX_SHARED: u32 = 1;

/// `blitz_unpark_requeue` does nothing.
pub const BLITZ_REQUEUE_ABORT: u32 = 0;
/// `blitz_unpark_requeue` unparks the first one, and moves the others.
pub const BLITZ_REQUEUE_UNPARK_ONE_MOVE_REST: u32 = 1;
/// `blitz_unpark_requeue` moves all.
pub const BLITZ_REQUEUE_MOVE_ALL: u32 = 2;
/// `blitz_unpark_requeue` unparks the first one, and leaves the others.
pub const BLITZ_REQUEUE_UNPARK_ONE: u32 = 3;
/// `blitz_unpark_requeue` moves the first one, and leaves the others.
pub const BLITZ_REQUEUE_MOVE_ONE: u32 = 4;

/// `blitz_unpark_filter` unparks this one, and goes on to the next.
pub const BLITZ_FILTER_UNPARK: u32 = 0;
/// `blitz_unpark_filter` leaves this one, and goes on to the next.
pub const BLITZ_FILTER_SKIP: u32 = 1;
/// `blitz_unpark_filter` leaves this one and all that come after it.
pub const BLITZ_FILTER_STOP: u32 = 2;

/// Reading does not wait.
pub const BLITZ_FD_READ: u32 = 1;
/// Writing does not wait.
pub const BLITZ_FD_WRITE: u32 = 2;
/// There is an error, which the next operation reports. Only a result.
pub const BLITZ_FD_ERROR: u32 = 4;
/// The other side has hung up. Only a result.
pub const BLITZ_FD_HANGUP: u32 = 8;

/// Opens for reading.
pub const BLITZ_OPEN_READ: u32 = 1;
/// Opens for writing.
pub const BLITZ_OPEN_WRITE: u32 = 2;
/// Each write goes to the end.
pub const BLITZ_OPEN_APPEND: u32 = 4;
/// Makes the file empty.
pub const BLITZ_OPEN_TRUNCATE: u32 = 8;
/// Makes the file if there is none.
pub const BLITZ_OPEN_CREATE: u32 = 16;
/// Makes the file, and fails if there is one.
pub const BLITZ_OPEN_CREATE_NEW: u32 = 32;

/// A position from the beginning of a file.
pub const BLITZ_SEEK_SET: u32 = 0;
/// A position from the current one.
pub const BLITZ_SEEK_CURRENT: u32 = 1;
/// A position from the end of a file.
pub const BLITZ_SEEK_END: u32 = 2;

/// The child has the stream of its parent.
pub const BLITZ_STDIO_INHERIT: u32 = 0;
/// The child reads nothing from the stream, or the system drops its output.
pub const BLITZ_STDIO_NULL: u32 = 1;
/// The parent gets the other end.
pub const BLITZ_STDIO_PIPE: u32 = 2;

/// Ends the direction in which bytes are received.
pub const BLITZ_SHUTDOWN_READ: u32 = 1;
/// Ends the direction in which bytes are sent.
pub const BLITZ_SHUTDOWN_WRITE: u32 = 2;

/// One sender; every receiver gets every message.
pub const BLITZ_IPC_ROUTE: u32 = 0;
/// Many senders; every receiver gets every message, all in one order.
pub const BLITZ_IPC_CHANNEL: u32 = 1;
/// Many senders; each message goes to one receiver.
pub const BLITZ_IPC_QUEUE: u32 = 2;

/// A sender waits while the ring is full, for the slowest receiver that is alive.
pub const BLITZ_IPC_BLOCK: u32 = 0;
/// A sender overwrites the oldest message.
pub const BLITZ_IPC_DROP_OLDEST: u32 = 1;
/// A sender gets `BLITZ_EFULL`.
pub const BLITZ_IPC_FAIL: u32 = 2;

/// A descriptor that its owner waits for more than once.
pub const blitz_fd_watch = opaque {};
/// An open file.
pub const blitz_file = opaque {};
/// The receiving end of a segment of shared memory.
pub const blitz_ipc_receiver = opaque {};
/// The sending end of a segment of shared memory.
pub const blitz_ipc_sender = opaque {};
/// A socket that accepts connections.
pub const blitz_listener = opaque {};
/// Cancels a pipeline.
pub const blitz_pipeline_control = opaque {};
/// A pool of threads for fork-join.
pub const blitz_pool = opaque {};
/// A child process.
pub const blitz_process = opaque {};
/// The receiving end of a channel.
pub const blitz_receiver = opaque {};
/// A runtime.
pub const blitz_runtime = opaque {};
/// A scope of the fork-join pool.
pub const blitz_scope = opaque {};
/// The sending end of a channel.
pub const blitz_sender = opaque {};
/// Receives a signal of the system.
pub const blitz_signal = opaque {};
/// A stream of bytes.
pub const blitz_stream = opaque {};
/// A fiber, or a function that blocks.
pub const blitz_task = opaque {};
/// A socket of UDP.
pub const blitz_udp = opaque {};

/// A barrier, by value.
pub const blitz_barrier = extern struct { state: u32 = 0, config: u32 = 0, space: [9]u64 = @splat(0) };
/// A condition variable, by value.
pub const blitz_condvar = extern struct { state: u32 = 0, config: u32 = 0, space: [9]u64 = @splat(0) };
/// An event, by value.
pub const blitz_event = extern struct { state: u32 = 0, config: u32 = 0, space: [9]u64 = @splat(0) };
/// A latch, by value.
pub const blitz_latch = extern struct { state: u32 = 0, config: u32 = 0, space: [9]u64 = @splat(0) };
/// Runs a function once, by value.
pub const blitz_once = extern struct { state: u32 = 0, config: u32 = 0, space: [9]u64 = @splat(0) };
/// A parker, by value.
pub const blitz_parker = extern struct { state: u32 = 0, config: u32 = 0, space: [9]u64 = @splat(0) };
/// A mutual exclusion lock, by value.
pub const blitz_mutex = extern struct { state: u32 = 0, config: u32 = 0, space: [7]u64 = @splat(0) };
/// A lock for many readers or one writer, by value.
pub const blitz_rwlock = extern struct { state: u32 = 0, config: u32 = 0, space: [7]u64 = @splat(0) };
/// A counting semaphore, by value.
pub const blitz_semaphore = extern struct { state: u32 = 0, config: u32 = 0, space: [7]u64 = @splat(0) };

/// An operation of `blitz_select`: either a receiver or a sender.
pub const blitz_case = extern struct {
    receiver: ?*blitz_receiver = null,
    sender: ?*blitz_sender = null,
    value: ?*anyopaque = null,
    result: c_int = 0,
};

/// A word to wait for, with the value that it is expected to hold.
pub const blitz_futex_waiter = extern struct {
    word: *const u32,
    expected: u32,
};

/// The callbacks of `blitz_park`.
pub const blitz_park_callbacks = extern struct {
    validate: ?*const fn (argument: ?*anyopaque) callconv(.c) bool = null,
    before_sleep: ?*const fn (argument: ?*anyopaque) callconv(.c) void = null,
    timed_out: ?*const fn (argument: ?*anyopaque, key: *const anyopaque, is_last: bool) callconv(.c) void = null,
};

/// The outcome of an unpark.
pub const blitz_unpark_result = extern struct {
    unparked: usize,
    requeued: usize,
    have_more: bool,
    be_fair: bool,
};

/// A callback of `blitz_unpark_one` and `blitz_unpark_filter`.
pub const blitz_unpark_callback = ?*const fn (argument: ?*anyopaque, result: *const blitz_unpark_result) callconv(.c) usize;

/// An address of the internet with a port.
pub const blitz_address = extern struct {
    family: u8,
    reserved: u8 = 0,
    port: u16,
    scope: u32 = 0,
    ip: [16]u8,
};

/// Settings of a child process.
pub const blitz_process_settings = extern struct {
    size: usize = @sizeOf(@This()),
    program: ?[*:0]const u8 = null,
    arguments: ?[*:null]const ?[*:0]const u8 = null,
    environment: ?[*:null]const ?[*:0]const u8 = null,
    directory: ?[*:0]const u8 = null,
    input: u32 = 0,
    output: u32 = 0,
    @"error": u32 = 0,
    kill_on_free: bool = false,
    reserved: [4]u64 = @splat(0),
};

/// Settings of a segment of shared memory.
pub const blitz_ipc_settings = extern struct {
    size: usize = @sizeOf(@This()),
    kind: u32 = 0,
    when_full: u32 = 0,
    capacity: usize = 0,
    max_len: usize = 0,
    max_senders: usize = 0,
    max_receivers: usize = 0,
    mode: u32 = 0,
    with_history: bool = false,
    must_exist: bool = false,
    directory: ?[*:0]const u8 = null,
    reserved: [4]u64 = @splat(0),
};

/// Makes the next item: 1 with an item, 0 at the end, or a negative number to fail.
pub const blitz_source = *const fn (argument: ?*anyopaque, item: *?*anyopaque) callconv(.c) c_int;
/// Works on an item: 0, or a negative number to fail.
pub const blitz_stage_function = *const fn (argument: ?*anyopaque, item: *?*anyopaque) callconv(.c) c_int;
/// Takes an item over: 0, or a negative number to fail.
pub const blitz_sink = *const fn (argument: ?*anyopaque, item: ?*anyopaque) callconv(.c) c_int;

/// A stage of a pipeline.
pub const blitz_stage = extern struct {
    function: blitz_stage_function,
    argument: ?*anyopaque = null,
};

/// A pipeline.
pub const blitz_pipeline = extern struct {
    size: usize = @sizeOf(@This()),
    source: blitz_source,
    source_argument: ?*anyopaque = null,
    stages: ?[*]const blitz_stage = null,
    stage_count: usize = 0,
    sink: blitz_sink,
    sink_argument: ?*anyopaque = null,
    free_item: ?*const fn (item: ?*anyopaque) callconv(.c) void = null,
    workers: usize = 0,
    capacity: usize = 0,
    unordered: bool = false,
    control: ?*blitz_pipeline_control = null,
    reserved: [4]u64 = @splat(0),
};

/// The result of a run of a pipeline.
pub const blitz_pipeline_result = extern struct {
    written: u64 = 0,
    failed_item: u64 = 0,
    callback_result: c_int = 0,
    reserved: [4]u64 = @splat(0),
};

/// A body of `blitz_parallel_for`.
pub const blitz_loop_body = *const fn (argument: ?*anyopaque, begin: usize, end: usize) callconv(.c) void;
/// A job of the fork-join pool.
pub const blitz_job = *const fn (argument: ?*anyopaque) callconv(.c) void;

/// Settings of a runtime.
pub const blitz_runtime_settings = extern struct {
    size: usize = @sizeOf(@This()),
    workers: usize = 0,
    blocking_threads: usize = 0,
    thread_name: ?[*:0]const u8 = null,
    reserved: [4]u64 = @splat(0),
};

/// Settings of a fiber.
pub const blitz_fiber_settings = extern struct {
    size: usize = @sizeOf(@This()),
    stack_size: usize = 0,
    name: ?[*:0]const u8 = null,
    reserved: [4]u64 = @splat(0),
};

/// The function of a fiber, or one that blocks.
pub const blitz_task_function = *const fn (argument: ?*anyopaque) callconv(.c) ?*anyopaque;
/// Frees the argument of a function that never begins.
pub const blitz_drop = *const fn (argument: ?*anyopaque) callconv(.c) void;

pub extern fn blitz_strerror(number: c_int) [*:0]const u8;
pub extern fn blitz_error_name(number: c_int) [*:0]const u8;
pub extern fn blitz_os_error(number: c_int) c_int;
pub extern fn blitz_last_error() [*:0]const u8;
pub extern fn blitz_barrier_wait(barrier: *blitz_barrier, is_leader: ?*bool) c_int;
pub extern fn blitz_barrier_wait_until(
    barrier: *blitz_barrier,
    deadline_ns: u64,
    is_leader: ?*bool,
) c_int;
pub extern fn blitz_mpsc_new(
    size: usize,
    capacity: usize,
    sender: **blitz_sender,
    receiver: **blitz_receiver,
) c_int;
pub extern fn blitz_mpmc_new(
    size: usize,
    capacity: usize,
    sender: **blitz_sender,
    receiver: **blitz_receiver,
) c_int;
pub extern fn blitz_oneshot_new(
    size: usize,
    sender: **blitz_sender,
    receiver: **blitz_receiver,
) c_int;
pub extern fn blitz_broadcast_new(
    size: usize,
    capacity: usize,
    sender: **blitz_sender,
    receiver: **blitz_receiver,
) c_int;
pub extern fn blitz_watch_new(
    size: usize,
    initial: *const anyopaque,
    sender: **blitz_sender,
    receiver: **blitz_receiver,
) c_int;
pub extern fn blitz_send(sender: *blitz_sender, value: *const anyopaque) c_int;
pub extern fn blitz_send_until(
    sender: *blitz_sender,
    value: *const anyopaque,
    deadline_ns: u64,
) c_int;
pub extern fn blitz_try_send(sender: *blitz_sender, value: *const anyopaque) c_int;
pub extern fn blitz_recv(receiver: *blitz_receiver, value: *anyopaque) c_int;
pub extern fn blitz_recv_until(
    receiver: *blitz_receiver,
    value: *anyopaque,
    deadline_ns: u64,
) c_int;
pub extern fn blitz_try_recv(receiver: *blitz_receiver, value: *anyopaque) c_int;
pub extern fn blitz_receiver_latest(receiver: *blitz_receiver, value: *anyopaque) c_int;
pub extern fn blitz_sender_clone(sender: *blitz_sender, clone: **blitz_sender) c_int;
pub extern fn blitz_receiver_clone(receiver: *blitz_receiver, clone: **blitz_receiver) c_int;
pub extern fn blitz_sender_subscribe(sender: *blitz_sender, receiver: **blitz_receiver) c_int;
pub extern fn blitz_sender_wait_closed(sender: *blitz_sender, deadline_ns: u64) c_int;
pub extern fn blitz_sender_is_closed(sender: *const blitz_sender) bool;
pub extern fn blitz_sender_close(sender: *blitz_sender) c_int;
pub extern fn blitz_receiver_close(receiver: *blitz_receiver) c_int;
pub extern fn blitz_receiver_len(receiver: *const blitz_receiver) usize;
pub extern fn blitz_sender_free(sender: *blitz_sender) void;
pub extern fn blitz_receiver_free(receiver: *blitz_receiver) void;
pub extern fn blitz_select(
    cases: [*]blitz_case,
    count: usize,
    deadline_ns: u64,
    index: *usize,
) c_int;
pub extern fn blitz_try_select(cases: [*]blitz_case, count: usize, index: *usize) c_int;
pub extern fn blitz_condvar_wait(condvar: *blitz_condvar, mutex: *blitz_mutex) c_int;
pub extern fn blitz_condvar_wait_until(
    condvar: *blitz_condvar,
    mutex: *blitz_mutex,
    deadline_ns: u64,
) c_int;
pub extern fn blitz_condvar_notify_one(condvar: *blitz_condvar) c_int;
pub extern fn blitz_condvar_notify_all(condvar: *blitz_condvar) c_int;
pub extern fn blitz_event_set(event: *blitz_event) c_int;
pub extern fn blitz_event_reset(event: *blitz_event) c_int;
pub extern fn blitz_event_wait(event: *blitz_event) c_int;
pub extern fn blitz_event_wait_until(event: *blitz_event, deadline_ns: u64) c_int;
pub extern fn blitz_event_try_wait(event: *blitz_event) c_int;
pub extern fn blitz_futex_wait(word: *const u32, expected: u32, scope: u32) c_int;
pub extern fn blitz_futex_wait_until(
    word: *const u32,
    expected: u32,
    scope: u32,
    deadline_ns: u64,
) c_int;
pub extern fn blitz_futex_wake(word: *const u32, n: usize, scope: u32, woken: ?*usize) c_int;
pub extern fn blitz_futex_wake_one(word: *const u32, scope: u32) c_int;
pub extern fn blitz_futex_wake_all(word: *const u32, scope: u32) c_int;
pub extern fn blitz_futex_wait_any(
    waiters: [*]const blitz_futex_waiter,
    count: usize,
    scope: u32,
    deadline_ns: u64,
    index: *usize,
) c_int;
pub extern fn blitz_futex_block_until_different(
    word: *const u32,
    previous: u32,
    scope: u32,
    deadline_ns: u64,
    value: ?*u32,
) c_int;
pub extern fn blitz_futex_spin_until_different(word: *const u32, previous: u32, threads: usize) c_int;
pub extern fn blitz_address_parse(text: [*:0]const u8, address: *blitz_address) c_int;
pub extern fn blitz_address_format(address: *const blitz_address, buffer: [*]u8, len: usize) c_int;
pub extern fn blitz_dns_lookup(
    host: [*:0]const u8,
    deadline_ns: u64,
    addresses: [*]blitz_address,
    capacity: usize,
    count: *usize,
) c_int;
pub extern fn blitz_udp_bind(host: [*:0]const u8, udp: **blitz_udp) c_int;
pub extern fn blitz_udp_send(
    udp: *blitz_udp,
    buffer: [*]const u8,
    len: usize,
    address: *const blitz_address,
    deadline_ns: u64,
) c_int;
pub extern fn blitz_udp_recv(
    udp: *blitz_udp,
    buffer: [*]u8,
    len: usize,
    deadline_ns: u64,
    count: *usize,
    address: ?*blitz_address,
) c_int;
pub extern fn blitz_udp_try_recv(
    udp: *blitz_udp,
    buffer: [*]u8,
    len: usize,
    count: *usize,
    address: ?*blitz_address,
) c_int;
pub extern fn blitz_udp_address(udp: *const blitz_udp, address: *blitz_address) c_int;
pub extern fn blitz_udp_fd(udp: *const blitz_udp) c_int;
pub extern fn blitz_udp_free(udp: *blitz_udp) void;
pub extern fn blitz_fd_wait(fd: c_int, events: u32, deadline_ns: u64, ready: ?*u32) c_int;
pub extern fn blitz_fd_watch_new(fd: c_int, watch: **blitz_fd_watch) c_int;
pub extern fn blitz_fd_watch_wait(watch: *blitz_fd_watch, events: u32, deadline_ns: u64) c_int;
pub extern fn blitz_fd_watch_free(watch: *blitz_fd_watch) void;
pub extern fn blitz_file_open(path: [*:0]const u8, flags: u32, mode: u32, file: **blitz_file) c_int;
pub extern fn blitz_file_read(file: *blitz_file, buffer: [*]u8, len: usize, count: *usize) c_int;
pub extern fn blitz_file_write(file: *blitz_file, buffer: [*]const u8, len: usize) c_int;
pub extern fn blitz_file_seek(file: *blitz_file, offset: i64, whence: u32, position: ?*u64) c_int;
pub extern fn blitz_file_sync(file: *blitz_file, metadata: bool) c_int;
pub extern fn blitz_file_len(file: *blitz_file, len: *u64) c_int;
pub extern fn blitz_file_set_len(file: *blitz_file, len: u64) c_int;
pub extern fn blitz_file_free(file: *blitz_file) void;
pub extern fn blitz_tcp_listen(host: [*:0]const u8, listener: **blitz_listener) c_int;
pub extern fn blitz_unix_listen(path: [*:0]const u8, listener: **blitz_listener) c_int;
pub extern fn blitz_listener_accept(listener: *blitz_listener, stream: **blitz_stream) c_int;
pub extern fn blitz_listener_accept_until(
    listener: *blitz_listener,
    deadline_ns: u64,
    stream: **blitz_stream,
) c_int;
pub extern fn blitz_listener_try_accept(listener: *blitz_listener, stream: **blitz_stream) c_int;
pub extern fn blitz_listener_address(listener: *const blitz_listener, address: *blitz_address) c_int;
pub extern fn blitz_listener_fd(listener: *const blitz_listener) c_int;
pub extern fn blitz_listener_free(listener: *blitz_listener) void;
pub extern fn blitz_process_spawn(
    settings: *const blitz_process_settings,
    process: **blitz_process,
) c_int;
pub extern fn blitz_process_wait(process: *blitz_process, deadline_ns: u64, status: ?*c_int) c_int;
pub extern fn blitz_process_id(process: *const blitz_process) u32;
pub extern fn blitz_process_kill(process: *blitz_process) c_int;
pub extern fn blitz_process_take_stream(
    process: *blitz_process,
    number: u32,
    stream: **blitz_stream,
) c_int;
pub extern fn blitz_process_free(process: *blitz_process) void;
pub extern fn blitz_signal_new(number: c_int, listener: **blitz_signal) c_int;
pub extern fn blitz_signal_wait(listener: *blitz_signal, deadline_ns: u64) c_int;
pub extern fn blitz_signal_free(listener: *blitz_signal) void;
pub extern fn blitz_tcp_connect(
    host: [*:0]const u8,
    deadline_ns: u64,
    stream: **blitz_stream,
) c_int;
pub extern fn blitz_tcp_connect_address(
    address: *const blitz_address,
    deadline_ns: u64,
    stream: **blitz_stream,
) c_int;
pub extern fn blitz_unix_connect(
    path: [*:0]const u8,
    deadline_ns: u64,
    stream: **blitz_stream,
) c_int;
pub extern fn blitz_unix_pair(one: **blitz_stream, other: **blitz_stream) c_int;
pub extern fn blitz_stream_read(
    stream: *blitz_stream,
    buffer: [*]u8,
    len: usize,
    count: *usize,
) c_int;
pub extern fn blitz_stream_read_until(
    stream: *blitz_stream,
    buffer: [*]u8,
    len: usize,
    deadline_ns: u64,
    count: *usize,
) c_int;
pub extern fn blitz_stream_try_read(
    stream: *blitz_stream,
    buffer: [*]u8,
    len: usize,
    count: *usize,
) c_int;
pub extern fn blitz_stream_read_exact(
    stream: *blitz_stream,
    buffer: [*]u8,
    len: usize,
    deadline_ns: u64,
    count: ?*usize,
) c_int;
pub extern fn blitz_stream_write(
    stream: *blitz_stream,
    buffer: [*]const u8,
    len: usize,
    count: *usize,
) c_int;
pub extern fn blitz_stream_write_until(
    stream: *blitz_stream,
    buffer: [*]const u8,
    len: usize,
    deadline_ns: u64,
    count: *usize,
) c_int;
pub extern fn blitz_stream_write_all(
    stream: *blitz_stream,
    buffer: [*]const u8,
    len: usize,
    deadline_ns: u64,
    count: ?*usize,
) c_int;
pub extern fn blitz_stream_try_write(
    stream: *blitz_stream,
    buffer: [*]const u8,
    len: usize,
    count: *usize,
) c_int;
pub extern fn blitz_stream_shutdown(stream: *blitz_stream, how: u32) c_int;
pub extern fn blitz_stream_set_nodelay(stream: *blitz_stream, nodelay: bool) c_int;
pub extern fn blitz_stream_addresses(
    stream: *const blitz_stream,
    local: ?*blitz_address,
    peer: ?*blitz_address,
) c_int;
pub extern fn blitz_stream_fd(stream: *const blitz_stream) c_int;
pub extern fn blitz_stream_free(stream: *blitz_stream) void;
pub extern fn blitz_ipc_sender_open(
    name: [*:0]const u8,
    settings: *const blitz_ipc_settings,
    sender: **blitz_ipc_sender,
) c_int;
pub extern fn blitz_ipc_receiver_open(
    name: [*:0]const u8,
    settings: *const blitz_ipc_settings,
    receiver: **blitz_ipc_receiver,
) c_int;
pub extern fn blitz_ipc_observer_open(
    name: [*:0]const u8,
    settings: *const blitz_ipc_settings,
    receiver: **blitz_ipc_receiver,
) c_int;
pub extern fn blitz_ipc_send(sender: *blitz_ipc_sender, message: [*]const u8, len: usize) c_int;
pub extern fn blitz_ipc_send_until(
    sender: *blitz_ipc_sender,
    message: [*]const u8,
    len: usize,
    deadline_ns: u64,
) c_int;
pub extern fn blitz_ipc_try_send(sender: *blitz_ipc_sender, message: [*]const u8, len: usize) c_int;
pub extern fn blitz_ipc_drained(sender: *blitz_ipc_sender, deadline_ns: u64) c_int;
pub extern fn blitz_ipc_loan(
    sender: *blitz_ipc_sender,
    len: usize,
    deadline_ns: u64,
    message: *[*]u8,
) c_int;
pub extern fn blitz_ipc_loan_send(sender: *blitz_ipc_sender, len: usize) c_int;
pub extern fn blitz_ipc_loan_drop(sender: *blitz_ipc_sender) c_int;
pub extern fn blitz_ipc_recv(
    receiver: *blitz_ipc_receiver,
    buffer: [*]u8,
    len: usize,
    count: *usize,
) c_int;
pub extern fn blitz_ipc_recv_until(
    receiver: *blitz_ipc_receiver,
    buffer: [*]u8,
    len: usize,
    deadline_ns: u64,
    count: *usize,
) c_int;
pub extern fn blitz_ipc_try_recv(
    receiver: *blitz_ipc_receiver,
    buffer: [*]u8,
    len: usize,
    count: *usize,
) c_int;
pub extern fn blitz_ipc_take(
    receiver: *blitz_ipc_receiver,
    deadline_ns: u64,
    message: *[*]const u8,
    len: *usize,
) c_int;
pub extern fn blitz_ipc_release(receiver: *blitz_ipc_receiver) c_int;
pub extern fn blitz_ipc_receiver_doorbell(receiver: *blitz_ipc_receiver, fd: *c_int) c_int;
pub extern fn blitz_ipc_try_recv_or_arm(
    receiver: *blitz_ipc_receiver,
    buffer: [*]u8,
    len: usize,
    count: *usize,
) c_int;
pub extern fn blitz_ipc_sender_doorbell(sender: *blitz_ipc_sender, fd: *c_int) c_int;
pub extern fn blitz_ipc_try_send_or_arm(
    sender: *blitz_ipc_sender,
    message: [*]const u8,
    len: usize,
) c_int;
pub extern fn blitz_ipc_max_len(sender: *const blitz_ipc_sender) usize;
pub extern fn blitz_ipc_sender_free(sender: *blitz_ipc_sender) void;
pub extern fn blitz_ipc_receiver_free(receiver: *blitz_ipc_receiver) void;
pub extern fn blitz_ipc_participants(
    name: [*:0]const u8,
    settings: *const blitz_ipc_settings,
    senders: ?*usize,
    receivers: ?*usize,
) c_int;
pub extern fn blitz_ipc_clean(count: ?*usize) c_int;
pub extern fn blitz_latch_count_down(latch: *blitz_latch, n: u32) c_int;
pub extern fn blitz_latch_wait(latch: *blitz_latch) c_int;
pub extern fn blitz_latch_wait_until(latch: *blitz_latch, deadline_ns: u64) c_int;
pub extern fn blitz_latch_try_wait(latch: *const blitz_latch) c_int;
pub extern fn blitz_latch_count(latch: *const blitz_latch) u32;
pub extern fn blitz_mutex_lock(mutex: *blitz_mutex) c_int;
pub extern fn blitz_mutex_lock_until(mutex: *blitz_mutex, deadline_ns: u64) c_int;
pub extern fn blitz_mutex_try_lock(mutex: *blitz_mutex) c_int;
pub extern fn blitz_mutex_unlock(mutex: *blitz_mutex) c_int;
pub extern fn blitz_once_call(once: *blitz_once, function: blitz_job, argument: ?*anyopaque) c_int;
pub extern fn blitz_once_call_until(once: *blitz_once, function: blitz_job, argument: ?*anyopaque, deadline_ns: u64) c_int;
pub extern fn blitz_once_try_call(once: *blitz_once, function: blitz_job, argument: ?*anyopaque) c_int;
pub extern fn blitz_once_is_done(once: *const blitz_once) bool;
pub extern fn blitz_parker_park(parker: *blitz_parker) c_int;
pub extern fn blitz_parker_park_until(parker: *blitz_parker, deadline_ns: u64) c_int;
pub extern fn blitz_parker_try_park(parker: *blitz_parker) c_int;
pub extern fn blitz_parker_unpark(parker: *blitz_parker) c_int;
pub extern fn blitz_parker_unpark_all(parker: *blitz_parker) c_int;
pub extern fn blitz_park(
    key: *const anyopaque,
    callbacks: ?*const blitz_park_callbacks,
    argument: ?*anyopaque,
    park_token: usize,
    deadline_ns: u64,
    unpark_token: ?*usize,
) c_int;
pub extern fn blitz_unpark_one(
    key: *const anyopaque,
    callback: blitz_unpark_callback,
    argument: ?*anyopaque,
    result: ?*blitz_unpark_result,
) c_int;
pub extern fn blitz_unpark_all(key: *const anyopaque, unpark_token: usize, unparked: ?*usize) c_int;
pub extern fn blitz_unpark_filter(
    key: *const anyopaque,
    filter: *const fn (argument: ?*anyopaque, park_token: usize) callconv(.c) u32,
    callback: blitz_unpark_callback,
    argument: ?*anyopaque,
    result: ?*blitz_unpark_result,
) c_int;
pub extern fn blitz_unpark_requeue(
    from: *const anyopaque,
    to: *const anyopaque,
    validate: *const fn (argument: ?*anyopaque) callconv(.c) u32,
    callback: blitz_unpark_callback,
    argument: ?*anyopaque,
    result: ?*blitz_unpark_result,
) c_int;
pub extern fn blitz_pipeline_run(
    pipeline: *const blitz_pipeline,
    result: ?*blitz_pipeline_result,
) c_int;
pub extern fn blitz_pipeline_control_new(control: **blitz_pipeline_control) c_int;
pub extern fn blitz_pipeline_cancel(control: *blitz_pipeline_control) c_int;
pub extern fn blitz_pipeline_control_free(control: *blitz_pipeline_control) void;
pub extern fn blitz_pool_new(threads: usize, pool: **blitz_pool) c_int;
pub extern fn blitz_pool_free(pool: ?*blitz_pool) void;
pub extern fn blitz_parallel_for(
    pool: ?*blitz_pool,
    begin: usize,
    end: usize,
    grain: usize,
    body: blitz_loop_body,
    argument: ?*anyopaque,
) c_int;
pub extern fn blitz_join(
    pool: ?*blitz_pool,
    one: blitz_job,
    one_argument: ?*anyopaque,
    other: blitz_job,
    other_argument: ?*anyopaque,
) c_int;
pub extern fn blitz_scope_run(
    pool: ?*blitz_pool,
    body: *const fn (scope: *blitz_scope, argument: ?*anyopaque) callconv(.c) void,
    argument: ?*anyopaque,
) c_int;
pub extern fn blitz_scope_spawn(scope: *blitz_scope, job: blitz_job, argument: ?*anyopaque) c_int;
pub extern fn blitz_pool_threads(pool: ?*blitz_pool) usize;
pub extern fn blitz_runtime_new(
    settings: ?*const blitz_runtime_settings,
    runtime: **blitz_runtime,
) c_int;
pub extern fn blitz_runtime_shutdown(runtime: *blitz_runtime, deadline_ns: u64) c_int;
pub extern fn blitz_runtime_free(runtime: *blitz_runtime) void;
pub extern fn blitz_runtime_tasks(runtime: *blitz_runtime) usize;
pub extern fn blitz_rwlock_read(lock: *blitz_rwlock) c_int;
pub extern fn blitz_rwlock_read_until(lock: *blitz_rwlock, deadline_ns: u64) c_int;
pub extern fn blitz_rwlock_try_read(lock: *blitz_rwlock) c_int;
pub extern fn blitz_rwlock_write(lock: *blitz_rwlock) c_int;
pub extern fn blitz_rwlock_write_until(lock: *blitz_rwlock, deadline_ns: u64) c_int;
pub extern fn blitz_rwlock_try_write(lock: *blitz_rwlock) c_int;
pub extern fn blitz_rwlock_unlock_read(lock: *blitz_rwlock) c_int;
pub extern fn blitz_rwlock_unlock_write(lock: *blitz_rwlock) c_int;
pub extern fn blitz_semaphore_acquire(semaphore: *blitz_semaphore, permits: u32) c_int;
pub extern fn blitz_semaphore_acquire_until(
    semaphore: *blitz_semaphore,
    permits: u32,
    deadline_ns: u64,
) c_int;
pub extern fn blitz_semaphore_try_acquire(semaphore: *blitz_semaphore, permits: u32) c_int;
pub extern fn blitz_semaphore_release(semaphore: *blitz_semaphore, permits: u32) c_int;
pub extern fn blitz_semaphore_release_within(semaphore: *blitz_semaphore, permits: u32, bound: u32) c_int;
pub extern fn blitz_semaphore_close(semaphore: *blitz_semaphore) c_int;
pub extern fn blitz_semaphore_available(semaphore: *const blitz_semaphore) u32;
pub extern fn blitz_sleep_until(deadline_ns: u64) c_int;
pub extern fn blitz_sleep_ns(nanoseconds: u64) c_int;
pub extern fn blitz_spawn(
    runtime: ?*blitz_runtime,
    settings: ?*const blitz_fiber_settings,
    function: blitz_task_function,
    argument: ?*anyopaque,
    task: ?**blitz_task,
) c_int;
pub extern fn blitz_spawn_owned(
    runtime: ?*blitz_runtime,
    settings: ?*const blitz_fiber_settings,
    function: blitz_task_function,
    drop: blitz_drop,
    argument: ?*anyopaque,
    task: ?**blitz_task,
) c_int;
pub extern fn blitz_spawn_blocking(
    runtime: ?*blitz_runtime,
    function: blitz_task_function,
    argument: ?*anyopaque,
    task: ?**blitz_task,
) c_int;
pub extern fn blitz_spawn_blocking_owned(
    runtime: ?*blitz_runtime,
    function: blitz_task_function,
    drop: blitz_drop,
    argument: ?*anyopaque,
    task: ?**blitz_task,
) c_int;
pub extern fn blitz_task_join(task: *blitz_task, deadline_ns: u64, result: ?*?*anyopaque) c_int;
pub extern fn blitz_task_detach(task: *blitz_task) void;
pub extern fn blitz_task_cancel(task: *blitz_task) c_int;
pub extern fn blitz_task_is_done(task: *const blitz_task) bool;
pub extern fn blitz_is_fiber() bool;
pub extern fn blitz_fiber_id() u64;
pub extern fn blitz_fiber_local() ?*anyopaque;
pub extern fn blitz_fiber_set_local(pointer: ?*anyopaque) c_int;
pub extern fn blitz_fiber_is_cancelled() bool;
pub extern fn blitz_fiber_mask_cancel(begins: bool) c_int;
pub extern fn blitz_yield() c_int;
pub extern fn blitz_now_ns() u64;
pub extern fn blitz_abi_version() u32;
pub extern fn blitz_check_abi(version: u32) c_int;
pub extern fn blitz_version() [*:0]const u8;
