# Tests of wire, attach and transport.
foreach(name test_client test_control_message test_control_socket test_field test_frame test_mirror test_reattach test_segment_check
    test_stream test_subscriber)
  oto_add_test(NAME ${name} SOURCES ${name}.c LIBS otolith_static LABELS unit)
endforeach()
target_link_libraries(test_subscriber PRIVATE nng_external) # its publisher
