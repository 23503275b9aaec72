list(APPEND OTOLITH_SOURCES
  doc/arena.c doc/build.c doc/document.c doc/nearest.c doc/number.c doc/parse.c doc/precheck.c doc/set.c doc/value.c
  doc/table.c doc/table_header.c)
