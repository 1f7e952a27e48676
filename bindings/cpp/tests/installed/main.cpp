#include <blitz/blitz.hpp>

int main() {
    return blitz::spawn([] { return 0; }).join();
}
