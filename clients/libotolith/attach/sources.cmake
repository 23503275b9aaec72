list(APPEND OTOLITH_SOURCES
  attach/client.c
  attach/control.c
  attach/control_socket.c
  attach/participant.c
  attach/reader.c
  attach/runtime.c
  attach/segment_check.c
  attach/segment_map.c)
