list(APPEND OTOLITH_SOURCES
  wire/control_message.c
  wire/control_write.c
  wire/pack_read.c
  wire/utf8.c)
