# IMUs in SDF XML; the round trip goes through the parameters of the built plugin.
foreach(name test_sdf_read test_sdf_round_trip)
  oto_add_test(NAME ${name} SOURCES ${name}.c LIBS cli_sdf otolith_static m LABELS unit DEPENDS sdf_imu)
endforeach()
