# Finds the library beside this file: PREFIX/share/blitz/cmake/blitzConfig.cmake.
#
# Targets: blitz::blitz (the shared library), blitz::static.

get_filename_component(_blitz_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

find_path(blitz_INCLUDE_DIR blitz.h HINTS "${_blitz_prefix}/include" NO_DEFAULT_PATH)
find_library(blitz_LIBRARY NAMES libblitz.so libblitz.dylib NO_DEFAULT_PATH
    HINTS "${_blitz_prefix}/lib" "${_blitz_prefix}/lib64"
    PATH_SUFFIXES "" "${CMAKE_LIBRARY_ARCHITECTURE}")
find_library(blitz_STATIC_LIBRARY NAMES libblitz.a NO_DEFAULT_PATH
    HINTS "${_blitz_prefix}/lib" "${_blitz_prefix}/lib64"
    PATH_SUFFIXES "" "${CMAKE_LIBRARY_ARCHITECTURE}")
mark_as_advanced(blitz_INCLUDE_DIR blitz_LIBRARY blitz_STATIC_LIBRARY)

if(NOT blitz_INCLUDE_DIR OR NOT (blitz_LIBRARY OR blitz_STATIC_LIBRARY))
    set(blitz_FOUND FALSE)
    set(blitz_NOT_FOUND_MESSAGE "no library and header of blitz below ${_blitz_prefix}")
    return()
endif()

if(blitz_LIBRARY AND NOT TARGET blitz::blitz)
    add_library(blitz::blitz SHARED IMPORTED)
    set_target_properties(blitz::blitz PROPERTIES
        IMPORTED_LOCATION "${blitz_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${blitz_INCLUDE_DIR}")
endif()

if(blitz_STATIC_LIBRARY AND NOT TARGET blitz::static)
    find_package(Threads REQUIRED)
    add_library(blitz::static STATIC IMPORTED)
    set_target_properties(blitz::static PROPERTIES
        IMPORTED_LOCATION "${blitz_STATIC_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${blitz_INCLUDE_DIR}"
        INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
endif()
