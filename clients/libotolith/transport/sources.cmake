list(APPEND OTOLITH_SOURCES
  transport/link.c
  transport/stream.c
  transport/subscriber.c
  transport/topics.c)
