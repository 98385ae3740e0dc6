# Packages from Debian 12; scripts/setup.sh installs them. A missing one is named here, at configure, not at link.

set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)  # a project around this one links them too
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(TBB REQUIRED)
find_package(verilator REQUIRED HINTS /usr/share/verilator)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
pkg_check_modules(SYSTEMC REQUIRED IMPORTED_TARGET GLOBAL systemc)
pkg_check_modules(LIBELF REQUIRED IMPORTED_TARGET GLOBAL libelf)
pkg_check_modules(LIBDW REQUIRED IMPORTED_TARGET GLOBAL libdw)
pkg_check_modules(PNG REQUIRED IMPORTED_TARGET GLOBAL libpng)  # pictures of graphs
pkg_check_modules(MPFR REQUIRED IMPORTED_TARGET GLOBAL mpfr)  # tests only
pkg_check_modules(PROTOBUF REQUIRED IMPORTED_TARGET GLOBAL protobuf)
find_library(DNNL_LIBRARY dnnl REQUIRED)  # its CMake package wants OpenCL, which is not used
find_library(ONNX_LIBRARY onnx REQUIRED)
find_library(ONNX_PROTO_LIBRARY onnx_proto REQUIRED)
find_program(RISCV_GCC riscv64-unknown-elf-gcc REQUIRED)
find_program(RISCV_OBJCOPY riscv64-unknown-elf-objcopy REQUIRED)

# SystemC's symbols carry the C++ standard it was built with. Link a probe here, so that a mismatch is told with its cure
# and not as an undefined symbol at the end of the build.
include(CheckCXXSourceCompiles)
find_package(rapidcheck REQUIRED)
set(CMAKE_REQUIRED_LIBRARIES PkgConfig::SYSTEMC)
check_cxx_source_compiles("#include <systemc>\nint sc_main(int, char**) { sc_core::sc_time t; return 0; }" SYSTEMC_LINKS)
unset(CMAKE_REQUIRED_LIBRARIES)
if(NOT SYSTEMC_LINKS)
  message(FATAL_ERROR "SystemC ${SYSTEMC_VERSION} does not link with C++${CMAKE_CXX_STANDARD}: it was built with another "
                      "C++ standard. Use Debian 12's libsystemc-dev (built as C++17), or build SystemC with "
                      "-DCMAKE_CXX_STANDARD=17 and set PKG_CONFIG_PATH to it.")
endif()
