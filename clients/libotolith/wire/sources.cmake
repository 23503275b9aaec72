list(APPEND OTOLITH_SOURCES
  wire/control_message.c
  wire/control_write.c
  wire/field.c
  wire/frame.c
  wire/frame_decode.c
  wire/frame_record.c
  wire/pack_read.c
  wire/record_check.c
  wire/run_log.c
  wire/run_log_file.c
  wire/schema.c
  wire/schema_encode.c
  wire/utf8.c)
