list(APPEND OTOLITH_SOURCES
  transport/stream.c
  transport/subscriber.c)
