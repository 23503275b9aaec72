list(APPEND OTOLITH_SOURCES
  transport/link.c
  transport/stream.c
  transport/bounded_close.c transport/subscriber.c)
