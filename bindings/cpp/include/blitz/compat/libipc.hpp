// The interface of cpp-ipc 1.x on the shared memory of blitz-io: `ipc::route`, `ipc::channel`,
// `ipc::buff_t`, `ipc::shm`, `ipc::sync`, `ipc::rw_lock` and `ipc::mem`, for Linux. A program includes
// this header instead of those of cpp-ipc; or it keeps `#include "libipc/ipc.h"` and gets the folder
// of this header as a folder of headers.
//
// More than there:
//
// 1. A process can be killed at any instruction. The memory is removed when no process that uses it
//    is alive, a mutex is unlocked when its owner dies, and a second sender of a route takes over
//    when the first has died.
// 2. A receiver gets each message once. A sender whose time has passed returns false, and takes no
//    receiver's connection away. (`send` of cpp-ipc ends the connection of slow receivers instead.)
// 3. One object can send, or receive, in several threads and fibers at once. A fiber that waits is
//    suspended alone.
//
// Other than there: only processes of the same user, with this library, reach each other.
#ifndef BLITZ_COMPAT_LIBIPC_HPP
#define BLITZ_COMPAT_LIBIPC_HPP

#include <blitz/compat/libipc/buffer.h>
#include <blitz/compat/libipc/condition.h>
#include <blitz/compat/libipc/def.h>
#include <blitz/compat/libipc/export.h>
#include <blitz/compat/libipc/ipc.h>
#include <blitz/compat/libipc/mutex.h>
#include <blitz/compat/libipc/pool_alloc.h>
#include <blitz/compat/libipc/rw_lock.h>
#include <blitz/compat/libipc/semaphore.h>
#include <blitz/compat/libipc/shm.h>

#endif
