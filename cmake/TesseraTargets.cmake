# Functions that declare the project's targets: one library a folder, tests beside the code.

include(GoogleTest)

add_library(tessera_options INTERFACE)
# No contraction: f32 results must be the same on every host and at every optimisation level.
target_compile_options(tessera_options INTERFACE -Wall -Wextra -ffp-contract=off)
if(TESSERA_WERROR)
  target_compile_options(tessera_options INTERFACE -Werror)
endif()
if(TESSERA_SANITIZE STREQUAL "thread")
  target_compile_options(tessera_options INTERFACE -fsanitize=thread -fno-omit-frame-pointer -Wno-tsan -Wno-maybe-uninitialized)
  target_link_options(tessera_options INTERFACE -fsanitize=thread)
elseif(TESSERA_SANITIZE)
  # GCC 12 takes parts of std::regex for uninitialised in instrumented code.
  target_compile_options(tessera_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
                                                   -fno-omit-frame-pointer -Wno-maybe-uninitialized)
  target_link_options(tessera_options INTERFACE -fsanitize=address,undefined)
endif()
target_compile_features(tessera_options INTERFACE cxx_std_17)
target_include_directories(tessera_options INTERFACE ${tessera_SOURCE_DIR} ${tessera_BINARY_DIR}/generated)

# tessera_library(NAME SOURCES a.cpp ... DEPENDS target ...): a library of one folder.
function(tessera_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  if(ARG_SOURCES)
    add_library(${name} STATIC ${ARG_SOURCES})
    target_link_libraries(${name} PUBLIC tessera_options ${ARG_DEPENDS})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE tessera_options ${ARG_DEPENDS})
  endif()
endfunction()

# tessera_test(NAME LABEL unit SOURCES a_test.cpp ... DEPENDS target ... [SYSTEMC] [TIMEOUT seconds]): one GoogleTest
# program; every TEST is a ctest of its own process, since SystemC elaborates once a process. With SYSTEMC the program's
# main is SystemC's and GoogleTest runs from sc_main.
function(tessera_test name)
  cmake_parse_arguments(ARG "SYSTEMC" "LABEL;TIMEOUT" "SOURCES;DEPENDS" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE tessera_options ${ARG_DEPENDS})
  if(ARG_SYSTEMC)
    target_sources(${name} PRIVATE ${tessera_SOURCE_DIR}/verif/support/sc_test_main.cpp)
    target_link_libraries(${name} PRIVATE GTest::gmock GTest::gtest PkgConfig::SYSTEMC)
  else()
    target_link_libraries(${name} PRIVATE GTest::gmock GTest::gtest_main)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${tessera_BINARY_DIR}/tests)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT})
endfunction()

# tessera_folders(a b ...): adds the folders of a room that are there, in this order.
macro(tessera_folders)
  foreach(folder ${ARGN})
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt)
      add_subdirectory(${folder})
    endif()
  endforeach()
endmacro()
