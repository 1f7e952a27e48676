# Finds the headers beside this file: PREFIX/share/blitz_cpp/cmake/blitz_cppConfig.cmake.
#
# Target: blitz::cpp, with the shared library. BLITZ_STATIC links the static one.

include(CMakeFindDependencyMacro)
find_dependency(blitz)
find_dependency(Threads)

get_filename_component(_blitz_cpp_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET blitz::cpp)
    add_library(blitz::cpp INTERFACE IMPORTED)
    set_target_properties(blitz::cpp PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${_blitz_cpp_prefix}/include"
        INTERFACE_COMPILE_FEATURES cxx_std_17
        INTERFACE_LINK_LIBRARIES "Threads::Threads;$<IF:$<BOOL:${BLITZ_STATIC}>,blitz::static,blitz::blitz>")
endif()
