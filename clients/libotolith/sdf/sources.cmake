list(APPEND OTOLITH_SOURCES
  sdf/xml.c sdf/sdf_table.c sdf/sdf_read.c sdf/sdf_value.c sdf/sdf_write.c sdf/sdf_yaml.c sdf/sdf_world.c)
