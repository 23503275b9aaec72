# otolith_add_plugin(NAME SOURCES...) builds NAME.so, a plugin that exports `otolith_plugin` alone.
# The same function serves the built-in plugins and those built out of the tree after find_package(otolith).
function(otolith_add_plugin name)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE otolith::plugin)
  set_target_properties(${name} PROPERTIES
    PREFIX "" SUFFIX ".so"
    C_STANDARD 17 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
    C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${name} PRIVATE -ffp-contract=off -fno-fast-math -fno-math-errno)
  target_link_options(${name} PRIVATE -Wl,-z,now -Wl,-z,relro -Wl,-z,noexecstack -Wl,--exclude-libs,ALL)
  # A copy that changes afterwards is refused (rule 'digest'). Without the program, nothing is written and nothing checked.
  if(TARGET otolith::cli)
    add_custom_command(TARGET ${name} POST_BUILD
      COMMAND $<TARGET_FILE:otolith::cli> plugins --write-digest $<TARGET_FILE:${name}> VERBATIM)
  endif()
  if(OTOLITH_BUILD_PLUGIN_DIR)
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${OTOLITH_BUILD_PLUGIN_DIR})
    set_property(GLOBAL APPEND PROPERTY OTOLITH_PLUGINS ${name})
  endif()
endfunction()
