// All of blitz-io for C++17 and later.
#ifndef BLITZ_BLITZ_HPP
#define BLITZ_BLITZ_HPP

#include <blitz/detail/cpp17.hpp>
// Above all others, so that its error is the first.
#include <blitz.h>

#include <blitz/address.hpp>
#include <blitz/async_call.hpp>
#include <blitz/barrier.hpp>
#include <blitz/broadcast.hpp>
#include <blitz/channel.hpp>
#include <blitz/condition_variable.hpp>
#include <blitz/condition_variable_any.hpp>
#include <blitz/error.hpp>
#include <blitz/event.hpp>
#include <blitz/fd.hpp>
#include <blitz/file.hpp>
#include <blitz/ipc.hpp>
#include <blitz/join_handle.hpp>
#include <blitz/latch.hpp>
#include <blitz/listener.hpp>
#include <blitz/mutex.hpp>
#include <blitz/once.hpp>
#include <blitz/oneshot.hpp>
#include <blitz/parallel_for.hpp>
#include <blitz/parallel_invoke.hpp>
#include <blitz/parallel_reduce.hpp>
#include <blitz/pipeline.hpp>
#include <blitz/pool.hpp>
#include <blitz/process.hpp>
#include <blitz/runtime.hpp>
#include <blitz/select.hpp>
#include <blitz/semaphore.hpp>
#include <blitz/shared_mutex.hpp>
#include <blitz/signal.hpp>
#include <blitz/spawn.hpp>
#include <blitz/stream.hpp>
#include <blitz/task.hpp>
#include <blitz/this_fiber.hpp>
#include <blitz/udp.hpp>
#include <blitz/watch.hpp>
#include <blitz/when_all.hpp>
#include <blitz/when_any.hpp>

#endif
