# RTL in the simulator: Verilated builds of tile_core (fast, traced, with faults to plant) behind one adapter.
set(RTL ${tessera_SOURCE_DIR}/rtl)
set(TILE_CORE_SOURCES
    ${TESSERA_PKG_SV} ${RTL}/fpu_pkg.sv ${RTL}/tile_pkg.sv ${RTL}/fpu_unpack.sv ${RTL}/fpu_round.sv ${RTL}/fpu.sv
    ${RTL}/fpu_divsqrt.sv ${RTL}/tile_decode.sv ${RTL}/tile_decode_fp.sv ${RTL}/tile_alu.sv ${RTL}/tile_div.sv
    ${RTL}/tile_xregs.sv ${RTL}/tile_fregs.sv ${RTL}/tile_issue.sv ${RTL}/tile_csr.sv ${RTL}/exchange_list.sv
    ${RTL}/tile_exchange.sv ${RTL}/tile_packet.sv ${RTL}/tile_retire.sv ${RTL}/tile_fetch.sv ${RTL}/tile_read.sv
    ${RTL}/tile_supervisor.sv ${RTL}/tile_execute.sv ${RTL}/tile_memory.sv ${RTL}/tile_lanes.sv ${RTL}/tile_engines.sv
    ${RTL}/tile_write.sv ${RTL}/tile_loop.sv ${RTL}/tile_stream_step.sv ${RTL}/tile_streams.sv ${TESSERA_GENERATED_SV}
    ${RTL}/xtile_pkg.sv ${RTL}/xtile_unpack.sv ${RTL}/xtile_half_unpack.sv ${RTL}/xtile_half_product.sv
    ${RTL}/xtile_align.sv ${RTL}/xtile_add.sv ${RTL}/xtile_round.sv ${RTL}/xtile_dot4.sv ${RTL}/xtile_lane.sv
    ${RTL}/xtile_narrow.sv ${RTL}/xtile_widen.sv ${RTL}/xtile_integer.sv ${RTL}/xtile_simd.sv
    ${RTL}/xtile_amp_engine.sv ${RTL}/xtile_amp.sv ${RTL}/xtile_rng.sv ${RTL}/xtile_transcendental.sv
    ${RTL}/tile_vector.sv ${RTL}/tile_core.sv)
# Unused bits of a word or of a decoded struct are no mistake; fpu_round names a local like a port of its parent.
set(TILE_CORE_WARNINGS -Wall -Wno-UNUSEDSIGNAL -Wno-VARHIDDEN)

# The package is generated while building, but Verilator wants to read it at configure time.
if(NOT EXISTS ${TESSERA_PKG_SV})
  execute_process(COMMAND ${Python3_EXECUTABLE} ${tessera_SOURCE_DIR}/hw/generate/generate.py
                          ${tessera_BINARY_DIR}/generated COMMAND_ERROR_IS_FATAL ANY)
endif()

# tessera_cosim_model(LIBRARY PREFIX OPTIMISATION source [verilate options]): a model and its adapter. The generated C++
# is a library of its own, since it does not keep the project's warnings.
function(tessera_cosim_model library prefix optimisation source)
  add_library(${library}_model STATIC)
  add_dependencies(${library}_model tessera_generated)
  verilate(${library}_model SOURCES ${TILE_CORE_SOURCES} TOP_MODULE tile_core PREFIX ${prefix} OPT_FAST ${optimisation}
           OPT_SLOW -O0 ${ARGN})
  # One run time for all models of a program: that of the waveforms.
  get_target_property(sources ${library}_model SOURCES)
  list(FILTER sources EXCLUDE REGEX "/include/verilated.*\\.cpp$")
  set_property(TARGET ${library}_model PROPERTY SOURCES ${sources})
  tessera_library(${library} SOURCES ${source} DEPENDS tessera_hw tessera_tile tessera_wave)
  get_target_property(folders ${library}_model INCLUDE_DIRECTORIES)
  target_include_directories(${library} SYSTEM PRIVATE ${folders} ${VERILATOR_ROOT}/include)
  target_link_libraries(${library} PRIVATE ${library}_model tessera_verilated)
endfunction()
if(TESSERA_RTL_COVERAGE)
  tessera_cosim_model(tessera_cosim Vtile_core -O1 rtl_tile_counted.cpp VERILATOR_ARGS ${TILE_CORE_WARNINGS}
                      --coverage-line --x-assign fast --x-initial fast --noassert)
  target_compile_options(tessera_cosim_model PRIVATE -include ${CMAKE_CURRENT_SOURCE_DIR}/count_once.h)
else()
  # Without the optimiser of data flow graphs the model is 7 % faster (measured).
  tessera_cosim_model(tessera_cosim Vtile_core -O2 rtl_tile.cpp VERILATOR_ARGS ${TILE_CORE_WARNINGS} -O3 -fno-dfg
                      --x-assign fast --x-initial fast --noassert)
endif()
tessera_cosim_model(tessera_cosim_traced Vtile_core_traced -O1 rtl_tile_traced.cpp TRACE_FST TRACE_STRUCTS
                    VERILATOR_ARGS ${TILE_CORE_WARNINGS})
# Its signals one by one, from the tracing code that Verilator has written for it.
set(WAVE_SIGNALS ${CMAKE_CURRENT_BINARY_DIR}/Vtile_core_traced__signals.cpp)
set(TRACED_DIR ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/tessera_cosim_traced_model.dir/Vtile_core_traced.dir)
add_custom_command(OUTPUT ${WAVE_SIGNALS}
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/wave_signals.py ${TRACED_DIR} Vtile_core_traced
          ${WAVE_SIGNALS}
  DEPENDS wave_signals.py ${TRACED_DIR}/Vtile_core_traced__Trace__0__Slow.cpp VERBATIM)
target_sources(tessera_cosim_traced_model PRIVATE ${WAVE_SIGNALS})
target_include_directories(tessera_cosim_traced_model PRIVATE ${tessera_SOURCE_DIR})
set_source_files_properties(${WAVE_SIGNALS} PROPERTIES COMPILE_OPTIONS -O1)
tessera_cosim_model(tessera_cosim_faulty Vtile_core_faulty -O1 rtl_tile_faulty.cpp TRACE_FST TRACE_STRUCTS
                    VERILATOR_ARGS ${TILE_CORE_WARNINGS} +define+TESSERA_FAULTS)

tessera_test(rtl_random_test LABEL rtl SOURCES rtl_random_test.cpp DEPENDS tessera_cosim)
tessera_test(rtl_exchange_test LABEL rtl SOURCES rtl_exchange_test.cpp DEPENDS tessera_cosim tessera_cosim_faulty)
tessera_test(rtl_packet_test LABEL rtl SOURCES rtl_packet_test.cpp DEPENDS tessera_cosim tessera_coverage tessera_link)
tessera_test(rtl_time_test LABEL rtl SOURCES rtl_time_test.cpp DEPENDS tessera_cosim tessera_cosim_faulty)
tessera_test(debug_test LABEL rtl SOURCES debug_test.cpp debug_state_test.cpp DEPENDS tessera_cosim)
