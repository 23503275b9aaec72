# Man pages, where scdoc and Python are; completion for bash, zsh and fish.
find_program(SCDOC scdoc)
find_program(OTOLITH_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT SCDOC OR NOT OTOLITH_PYTHON)
  message(STATUS "Man pages are not built: scdoc or /usr/bin/python3 is missing (Debian packages scdoc, python3)")
elseif(CMAKE_CROSSCOMPILING OR OTOLITH_SANITIZE)
  message(STATUS "Man pages are not built: they are made from the --help of the programs, which this build does not run")
else()
  set(OTOLITH_MAN_DIR ${CMAKE_BINARY_DIR}/man)
  set(programs otolith otolithd otolith-publisher otolith-gate)
  foreach(program otolith-player otolith-web otolith-nats otolith-ros2 otolith-ardupilot otolith-px4)
    if(TARGET ${program})
      list(APPEND programs ${program})
    endif()
  endforeach()
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/man.stamp
    COMMAND ${OTOLITH_PYTHON} ${PROJECT_SOURCE_DIR}/tools/man/make_pages.py ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${PROJECT_SOURCE_DIR}
      ${OTOLITH_MAN_DIR}
    COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/man.stamp
    DEPENDS ${programs} ${PROJECT_SOURCE_DIR}/tools/man/make_pages.py
      ${PROJECT_SOURCE_DIR}/tools/man/sections.scd ${PROJECT_SOURCE_DIR}/tools/lib/help_text.py
      ${PROJECT_SOURCE_DIR}/tools/lib/schema_table.py ${PROJECT_SOURCE_DIR}/configs/world.schema.json
    COMMENT "Making the man pages" VERBATIM)
  add_custom_target(man ALL DEPENDS ${CMAKE_BINARY_DIR}/man.stamp)
  install(DIRECTORY ${OTOLITH_MAN_DIR}/ DESTINATION ${CMAKE_INSTALL_MANDIR} OPTIONAL)
endif()

# The three shells ask one script, which finds candidates by the program itself.
set(completion ${PROJECT_SOURCE_DIR}/tools/completion)
install(PROGRAMS ${completion}/candidates.sh DESTINATION ${CMAKE_INSTALL_DATADIR}/otolith/completion)
install(FILES ${completion}/otolith.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME otolith)
install(FILES ${completion}/_otolith DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${completion}/otolith.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# A world as a unit of the user's systemd, and the limits that real-time priority needs.
configure_file(${PROJECT_SOURCE_DIR}/tools/units/otolith@.service.in ${CMAKE_BINARY_DIR}/otolith@.service @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/otolith@.service DESTINATION lib/systemd/user)
install(FILES ${PROJECT_SOURCE_DIR}/tools/units/limits.conf DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/otolith/examples)
