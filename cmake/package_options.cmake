# Read by cpack for each kind of package: an archive is unpacked into one folder, a .deb into /usr.
if(CPACK_GENERATOR STREQUAL "TZST")
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
endif()
