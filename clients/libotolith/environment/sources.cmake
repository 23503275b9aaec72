list(APPEND OTOLITH_SOURCES
  environment/atmosphere.c
  environment/date.c
  environment/wmm.c
  environment/wmm_file.c
  environment/wmm_table.c)
