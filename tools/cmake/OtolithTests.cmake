# Seconds after which a test of whole programs is ended because it hangs; instrumented code is slow, and the machine may be busy.
set(OTO_PROGRAM_TIMEOUT 900)
if(OTOLITH_SANITIZE)
  set(OTO_PROGRAM_TIMEOUT 1500)
endif()

# oto_add_test(NAME test_ring SOURCES a.c b.c LIBS otolith_static [LABELS unit] [TIMEOUT 60] [COST 20] [ENVIRONMENT K=V ...])
# One cmocka executable a module, registered with ctest. Its cwd is its own binary folder; the macro OTO_SOURCE_DIR
# names the checkout, OTO_SHARED_DIR the folder of reference data beside it (tests skip where that is absent), and
# OTO_PLUGIN_DIR, OTO_BIN_DIR where plugins and programs are built. COST is about the seconds of a test that takes more than ten:
# the first run of ctest starts these first; later runs know all.
function(oto_add_test)
  cmake_parse_arguments(T "" "NAME;TIMEOUT;COST" "SOURCES;LIBS;LABELS;ENVIRONMENT;DEPENDS" ${ARGN})
  add_executable(${T_NAME} ${T_SOURCES})
  target_link_libraries(${T_NAME} PRIVATE otolith_options otolith_headers ${T_LIBS} PkgConfig::CMOCKA)
  target_include_directories(${T_NAME} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support)
  target_compile_definitions(${T_NAME} PRIVATE
    OTO_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    OTO_SHARED_DIR="${PROJECT_SOURCE_DIR}/../shared"
    OTO_PLUGIN_DIR="${OTOLITH_BUILD_PLUGIN_DIR}"
    OTO_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  set_target_properties(${T_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(T_DEPENDS)
    add_dependencies(${T_NAME} ${T_DEPENDS})
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 120)
  endif()
  if(OTOLITH_SANITIZE)
    math(EXPR T_TIMEOUT "5 * ${T_TIMEOUT}") # it ends what hangs; instrumented code is slow, and the machine may be busy
  endif()
  add_test(NAME ${T_NAME} COMMAND ${T_NAME} WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  set_tests_properties(${T_NAME} PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS "${T_LABELS}" ENVIRONMENT "${T_ENVIRONMENT}"
    SKIP_RETURN_CODE 77)
  if(T_COST)
    set_tests_properties(${T_NAME} PROPERTIES COST ${T_COST})
  endif()
endfunction()
