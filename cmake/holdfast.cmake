# How every part of Holdfast is compiled, and the functions its folders are declared with.

include(CheckCXXCompilerFlag)
include(CTest)

option(HOLDFAST_BENCHMARKS "Build the programs under bench/" OFF)
option(HOLDFAST_FUZZERS "Build the libFuzzer targets (needs clang)" OFF)
set(HOLDFAST_SANITIZE "" CACHE STRING "Sanitizers for everything, e.g. address,undefined")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

# The same objects go into the server and into libholdfast.so, which shows only what include/ declares. With
# hidden symbols, which nobody can replace at run time, this costs the server nothing.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

find_program(CCACHE ccache)
if(CCACHE)
    # Without this, ccache keeps nothing of files that use precompiled headers.
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

add_library(holdfast_flags INTERFACE)
target_include_directories(holdfast_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(holdfast_flags INTERFACE fmt::fmt)
# A designated initialiser names what differs from the default; g++ would have it name everything.
target_compile_options(holdfast_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
    -Wno-missing-field-initializers -fno-semantic-interposition)
# By default g++ empties a record of more than a hundred bytes with `rep stos`, which takes its time to begin: 17 ns
# for one of 240 bytes where 15 stores take 4, and a request makes several of them.
check_cxx_compiler_flag(-mtune=skylake HOLDFAST_CAN_TUNE)
if(HOLDFAST_CAN_TUNE)
    target_compile_options(holdfast_flags INTERFACE -mtune=skylake)
endif()
if(HOLDFAST_SANITIZE)
    target_compile_options(holdfast_flags INTERFACE -fno-omit-frame-pointer)
    # With sanitizers g++ 12 sees uninitialised strings in every tl::expected. clang does not know the warning.
    target_compile_options(holdfast_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_compile_options(holdfast_flags INTERFACE -fsanitize=${HOLDFAST_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(holdfast_flags INTERFACE -fsanitize=${HOLDFAST_SANITIZE})
endif()

if(HOLDFAST_FUZZERS)
    # So that the fuzzer sees which way its inputs take.
    target_compile_options(holdfast_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Reading the standard library, fmt, GoogleTest and Asio takes longer than compiling most of our files, so it is done
# once for all files that are compiled with the same flags.
set(HOLDFAST_HEADERS
    <algorithm> <array> <atomic> <charconv> <chrono> <condition_variable> <cstddef> <cstdint> <functional> <map> <memory>
    <mutex> <optional> <span> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector>
    <fmt/format.h> <tl/expected.hpp>)
set(HOLDFAST_NET_HEADERS
    <boost/asio/generic/stream_protocol.hpp> <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp>
    <boost/asio/posix/stream_descriptor.hpp> <boost/asio/post.hpp> <boost/asio/steady_timer.hpp>
    <boost/beast/http/basic_parser.hpp>)
set(HOLDFAST_TEST_HEADERS <filesystem> <fstream> <gmock/gmock.h> <gtest/gtest.h>)
# With -fpch-preprocess, ccache sees what a precompiled header stands for. The warnings are about std::string itself: in
# precompiled headers g++ 12 does not know that they are the system's.
target_compile_options(holdfast_flags INTERFACE
    "$<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-restrict>")

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled.cc CONTENT "int main() { return 0; }\n")
# The headers for libraries; for libraries with -O3; for libraries that use src/net; for those with -O3.
add_library(holdfast_headers OBJECT ${CMAKE_BINARY_DIR}/precompiled.cc)
add_library(holdfast_hot_headers OBJECT ${CMAKE_BINARY_DIR}/precompiled.cc)
add_library(holdfast_net_headers OBJECT ${CMAKE_BINARY_DIR}/precompiled.cc)
add_library(holdfast_hot_net_headers OBJECT ${CMAKE_BINARY_DIR}/precompiled.cc)
target_compile_options(holdfast_hot_headers PRIVATE -O3)
target_compile_options(holdfast_hot_net_headers PRIVATE -O3)
set(header_targets holdfast_headers holdfast_hot_headers holdfast_net_headers holdfast_hot_net_headers)
if(BUILD_TESTING)
    find_package(GTest REQUIRED CONFIG)
    include(GoogleTest)
    # The same for test programs, which are compiled with other flags than libraries.
    add_executable(holdfast_test_headers ${CMAKE_BINARY_DIR}/precompiled.cc)
    add_executable(holdfast_net_test_headers ${CMAKE_BINARY_DIR}/precompiled.cc)
    list(APPEND header_targets holdfast_test_headers holdfast_net_test_headers)
endif()
foreach(target ${header_targets})
    target_link_libraries(${target} PRIVATE holdfast_flags)
    target_precompile_headers(${target} PRIVATE ${HOLDFAST_HEADERS})
    if(target MATCHES net)
        target_precompile_headers(${target} PRIVATE ${HOLDFAST_NET_HEADERS})
    endif()
    if(target MATCHES test)
        target_link_libraries(${target} PRIVATE GTest::gtest GTest::gmock)
        target_precompile_headers(${target} PRIVATE ${HOLDFAST_TEST_HEADERS})
    endif()
endforeach()

# Several files of a library or a test program are compiled as one: what they include is read once. The preset tsan
# compiles every file alone, so that a file which lacks an include is found.
option(HOLDFAST_TOGETHER "Compile several files of a library or a test program as one" ON)
if(HOLDFAST_TOGETHER)
    set(CMAKE_UNITY_BUILD ON)
    set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)
endif()

add_custom_target(engine_tests)

# holdfast_module(core SOURCES a.cc DEPENDS holdfast_base TESTS a_test.cc TEST_DEPENDS rapidcheck)
# makes the library holdfast_core and, with tests on, the program core_test, whose cases ctest knows one by one.
#   HOT      it is on the way of every request; -O3 takes 4 to 6 % off what its functions do
#   NET      it includes the headers of src/net
#   ENGINE   its tests are run under sanitizers for every change
#   ALONE    its files are never compiled together: the simulator replaces single ones by copies with a planted bug
function(holdfast_module name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "HOT;NET;ENGINE;ALONE" "" "SOURCES;DEPENDS;TESTS;TEST_DEPENDS")
    set(target holdfast_${name})
    add_library(${target} STATIC ${arg_SOURCES})
    if(arg_ALONE)
        set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
    endif()
    target_link_libraries(${target} PUBLIC holdfast_flags ${arg_DEPENDS})
    if(arg_HOT AND NOT HOLDFAST_SANITIZE)
        target_compile_options(${target} PRIVATE -O3)
        if(arg_NET)
            target_precompile_headers(${target} REUSE_FROM holdfast_hot_net_headers)
        else()
            target_precompile_headers(${target} REUSE_FROM holdfast_hot_headers)
        endif()
    elseif(arg_NET)
        target_precompile_headers(${target} REUSE_FROM holdfast_net_headers)
    else()
        target_precompile_headers(${target} REUSE_FROM holdfast_headers)
    endif()
    if(arg_TESTS)
        set(kind)
        if(arg_NET)
            list(APPEND kind NET)
        endif()
        if(arg_ENGINE)
            list(APPEND kind ENGINE)
        endif()
        holdfast_test(${name}_test ${kind} SOURCES ${arg_TESTS} DEPENDS ${target} ${arg_TEST_DEPENDS})
    endif()
endfunction()

function(holdfast_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "NET;ENGINE" "" "SOURCES;DEPENDS")
    if(NOT BUILD_TESTING)
        return()
    endif()
    add_executable(${name} ${arg_SOURCES})
    if(arg_NET)
        target_precompile_headers(${name} REUSE_FROM holdfast_net_test_headers)
    else()
        target_precompile_headers(${name} REUSE_FROM holdfast_test_headers)
    endif()
    target_link_libraries(${name} PRIVATE holdfast_flags ${arg_DEPENDS} GTest::gtest GTest::gmock GTest::gtest_main)
    set(labels)
    if(arg_ENGINE)
        set(labels engine)
        add_dependencies(engine_tests ${name})
    endif()
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 300 LABELS "${labels}")
endfunction()

# holdfast_embed(holdfast_web page.html NAMESPACE holdfast::web NAME page_html)
# puts a file's bytes into the library, where `std::string_view holdfast::web::page_html()` returns them; a
# header of the folder declares that.
function(holdfast_embed target file)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "NAMESPACE;NAME" "")
    set(input ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}.cc)
    set(script ${PROJECT_SOURCE_DIR}/cmake/embed_file.cmake)
    add_custom_command(
        OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -D input=${input} -D output=${output} -D namespace=${arg_NAMESPACE}
            -D name=${arg_NAME} -P ${script}
        DEPENDS ${input} ${script}
        VERBATIM)
    target_sources(${target} PRIVATE ${output})
endfunction()
