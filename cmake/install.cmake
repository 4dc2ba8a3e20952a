# What `cmake --install` puts where, and the package that find_package(perceiver) finds. Included
# last: it goes over the libraries that the folders have declared by then.

get_property(targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
set(libraries)
set(PERCEIVER_DEPENDENCIES)
foreach(target IN LISTS targets)
  # perceiver_library() gives its libraries, and nothing else has, a name to be exported under.
  get_target_property(export_name ${target} EXPORT_NAME)
  if(NOT export_name)
    continue()
  endif()
  list(APPEND libraries ${target})
  # A static library hands on what it links, privately too: package::target names the package
  # that a user of the library has to find as well.
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  string(REGEX MATCHALL "[A-Za-z0-9_]+::" packages "${links}")
  list(APPEND PERCEIVER_DEPENDENCIES ${packages})
endforeach()
list(TRANSFORM PERCEIVER_DEPENDENCIES REPLACE "::" "")
list(TRANSFORM PERCEIVER_DEPENDENCIES REPLACE "^CUDA$" "CUDAToolkit")
list(REMOVE_ITEM PERCEIVER_DEPENDENCIES perceiver)
list(REMOVE_DUPLICATES PERCEIVER_DEPENDENCIES)

# perceiver::perceiver, all folders at once. The name perceiver itself is the program's.
add_library(perceiver_all INTERFACE)
add_library(perceiver::perceiver ALIAS perceiver_all)
set_target_properties(perceiver_all PROPERTIES EXPORT_NAME perceiver)
target_link_libraries(perceiver_all INTERFACE ${libraries})
install(TARGETS perceiver_all EXPORT perceiver)

if(TARGET perceiver)
  # LibTorch lies outside the system's library folders: the program remembers where.
  file(REAL_PATH ${Torch_DIR}/../../../lib torch_lib)
  set_target_properties(perceiver PROPERTIES INSTALL_RPATH ${torch_lib})
  install(TARGETS perceiver)
endif()
install(FILES perceiver/perceiver.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/perceiver)
install(DIRECTORY configs experiments labels models samples DESTINATION ${CMAKE_INSTALL_DATADIR}/perceiver)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/perceiver)
install(EXPORT perceiver NAMESPACE perceiver:: FILE perceiverTargets.cmake
  DESTINATION ${package_dir})
configure_package_config_file(cmake/perceiverConfig.cmake.in perceiverConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(perceiverConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/perceiverConfig.cmake
  ${PROJECT_BINARY_DIR}/perceiverConfigVersion.cmake
  DESTINATION ${package_dir})
