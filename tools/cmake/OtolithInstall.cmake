# Install rules, the CMake package and pkg-config. Debian packages: tools/package.
set(OTOLITH_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/otolith)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/otolith DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS otolith_headers otolith_shared otolith_sim_shared EXPORT otolith-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(program otolith otolithd otolith-player otolith-publisher otolith-gate otolith-plugin-host otolith-web otolith-nats otolith-ros2 otolith-ardupilot otolith-px4)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
get_property(plugins GLOBAL PROPERTY OTOLITH_PLUGINS)
install(TARGETS ${plugins} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/${OTOLITH_PLUGIN_FOLDER})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/otolith/configs)

# Python of Debian reads /usr/lib/python3/dist-packages and PREFIX/lib/python3.N/dist-packages of /usr/local alone; under
# another prefix PYTHONPATH has to name the folder.
execute_process(COMMAND /usr/bin/python3 -c "import sys; print('%d.%d' % sys.version_info[:2])"
  OUTPUT_VARIABLE python_version OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
install(CODE "
  set(folder lib/python${python_version}/dist-packages)
  if(CMAKE_INSTALL_PREFIX STREQUAL /usr)
    set(folder lib/python3/dist-packages)
  endif()
  file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/\${folder}\" TYPE DIRECTORY
    FILES \"${PROJECT_SOURCE_DIR}/clients/python/otolith\" PATTERN __pycache__ EXCLUDE)")

install(EXPORT otolith-targets NAMESPACE otolith:: DESTINATION ${OTOLITH_CMAKE_DIR})
configure_package_config_file(${PROJECT_SOURCE_DIR}/tools/cmake/otolith-config.cmake.in
  ${CMAKE_BINARY_DIR}/otolith-config.cmake INSTALL_DESTINATION ${OTOLITH_CMAKE_DIR}
  PATH_VARS OTOLITH_INSTALL_PLUGIN_DIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/otolith-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/otolith-config.cmake ${CMAKE_BINARY_DIR}/otolith-config-version.cmake
  ${PROJECT_SOURCE_DIR}/tools/cmake/OtolithPlugin.cmake DESTINATION ${OTOLITH_CMAKE_DIR})

# Its paths start from where the file itself is, so that they hold under every prefix.
file(RELATIVE_PATH OTOLITH_PREFIX_FROM_PKGCONFIG /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(library otolith otolith-sim)
  configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/${library}.pc.in ${CMAKE_BINARY_DIR}/${library}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
