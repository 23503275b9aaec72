# IMUs in SDF XML; the round trip goes through the parameters of the built plugin.
oto_add_test(NAME test_sdf_xml SOURCES test_sdf_xml.c LIBS otolith_static m LABELS unit DEPENDS sdf_imu)
