list(APPEND OTOLITH_SOURCES
  estimate/log.c estimate/log_columns.c estimate/log_csv.c estimate/estimate.c estimate/execute.c)
