// Messages of many parts with cpp-ipc's names: the receiver gets the memory to which the parts were copied.
#include <gtest/gtest.h>
#include <libipc/ipc.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <string>
#include <vector>

namespace {

thread_local std::size_t allocated = 0;

}  // namespace

// All forms: the address sanitizer has functions of its own for those that are not here.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    allocated += size;
    return std::malloc(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return operator new(size, std::nothrow);
}
void* operator new(std::size_t size) {
    if (void* const memory = operator new(size, std::nothrow)) return memory;
    throw std::bad_alloc();
}
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

TEST(LibipcLarge, AMessageOfManyPartsIsCopiedOnceByItsReceiver) {
    const std::string name = "libipc-large-test." + std::to_string(getpid());
    ipc::route receiver(name.c_str(), ipc::receiver);
    ipc::route sender(name.c_str(), ipc::sender);
    std::vector<unsigned char> bytes(std::size_t{64} * 1024);
    for (std::size_t i = 0; i < bytes.size(); i++) bytes[i] = static_cast<unsigned char>(i * 7 / 5);
    for (int round = 0; round < 3; round++) {
        ASSERT_TRUE(sender.send(bytes.data(), bytes.size()));
        const std::size_t before = allocated;
        const ipc::buff_t message = receiver.recv();
        const std::size_t used = allocated - before;
        ASSERT_EQ(message.size(), bytes.size());
        EXPECT_EQ(memcmp(message.data(), bytes.data(), bytes.size()), 0);
        EXPECT_GE(used, bytes.size());
        EXPECT_LT(used, bytes.size() + bytes.size() / 2);
    }
}

// Written by another process that is no sender of this library.
ipc::buff_t add(ipc::detail::assembly& assembly, std::uint64_t size, std::uint64_t before, std::size_t len) {
    std::vector<unsigned char> part(sizeof(ipc::detail::fragment_header) + len, 'x');
    const ipc::detail::fragment_header header{1, size, before};
    std::memcpy(part.data(), &header, sizeof(header));
    return assembly.add(part.data(), part.size());
}

TEST(LibipcLarge, PartsThatDoNotFitEndTheirMessage) {
    ipc::detail::assembly assembly;
    EXPECT_TRUE(add(assembly, 20, 0, 10).empty());
    EXPECT_EQ(add(assembly, 20, 10, 10).size(), 20U);
    // Without the first part, too long, of another size, and larger than the memory.
    EXPECT_TRUE(add(assembly, 20, 10, 10).empty());
    EXPECT_TRUE(add(assembly, 20, 0, 10).empty());
    EXPECT_TRUE(add(assembly, 20, 10, 11).empty());
    EXPECT_TRUE(add(assembly, 20, 10, 10).empty());
    EXPECT_TRUE(add(assembly, 20, 0, 10).empty());
    EXPECT_TRUE(add(assembly, 30, 10, 20).empty());
    for (const std::uint64_t size : {~0ULL, ~0ULL / 2 + 1}) {
        EXPECT_TRUE(add(assembly, size, 0, 10).empty());
        EXPECT_TRUE(add(assembly, size, 10, 10).empty());
    }
    // A new message instead of one that was given up.
    EXPECT_TRUE(add(assembly, 20, 0, 10).empty());
    EXPECT_TRUE(add(assembly, 15, 0, 10).empty());
    EXPECT_EQ(add(assembly, 15, 10, 5).size(), 15U);
}

}  // namespace
