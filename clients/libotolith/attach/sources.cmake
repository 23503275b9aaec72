list(APPEND OTOLITH_SOURCES
  attach/channel_book.c
  attach/client.c
  attach/control.c
  attach/control_socket.c
  attach/participant.c
  attach/reader.c
  attach/reattach.c
  attach/runtime.c
  attach/segment_check.c
  attach/segment_map.c)
