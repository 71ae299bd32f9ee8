# libkprof_kernels.a for other programs: usable on its own, with the messages of its statuses. Position
# independent, so that a shared library may take it in.
add_library(kprof_kernels_alone STATIC
  $<TARGET_OBJECTS:kprof_kernels> ${CMAKE_SOURCE_DIR}/trace/status.c)
set_target_properties(kprof_kernels_alone PROPERTIES OUTPUT_NAME kprof_kernels
  ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/alone)

set(headers)
foreach(operator ${operators})
  list(APPEND headers ${operator}.h)
endforeach()
install(TARGETS kprof_kernels_alone ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES kernels.h kernels.def ${headers}
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kprof/kernels)
install(FILES ${CMAKE_SOURCE_DIR}/trace/status.h ${CMAKE_SOURCE_DIR}/trace/status.def
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kprof/trace)

# Places in the .pc file are seen from its own, so that the tree may move.
file(RELATIVE_PATH include_from_pc
  /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p/${CMAKE_INSTALL_INCLUDEDIR}/kprof)
configure_file(kprof_kernels.pc.in ${CMAKE_CURRENT_BINARY_DIR}/kprof_kernels.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kprof_kernels.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
