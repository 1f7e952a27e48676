// The language that these headers need.
#ifndef BLITZ_DETAIL_CPP17_HPP
#define BLITZ_DETAIL_CPP17_HPP

#if __cplusplus < 201703L
#error "the headers of blitz need C++17: compile with -std=c++17 or a later standard"
#endif

#endif
