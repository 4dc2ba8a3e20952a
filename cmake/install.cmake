# What `cmake --install` puts where, and the package that find_package(perceiver) finds. Included
# last: it goes over the libraries that the folders have declared by then. Components: "program",
# all that running it takes but libraries of others; "development"; and "bundle", which
# bundle.cmake declares.

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

# `cmake --build build --target installed`: what is installed, and nothing else.
add_custom_target(installed DEPENDS ${libraries} perceiver)

# LibTorch comes along where it lies in this clone: an installed program would end with the clone.
# One that lies elsewhere is used where it is. Only that for CPUs can come along: CUDA's is several
# gigabytes in a dozen folders.
file(REAL_PATH ${Torch_DIR}/../../../lib torch_lib)
cmake_path(IS_PREFIX PROJECT_SOURCE_DIR ${torch_lib} torch_is_inside)
if(PERCEIVER_CUDA)
  set(torch_is_inside OFF)
endif()
option(PERCEIVER_INSTALL_TORCH "Install LibTorch's CPU libraries beside the program" ${torch_is_inside})
if(PERCEIVER_CUDA AND PERCEIVER_INSTALL_TORCH)
  message(FATAL_ERROR "PERCEIVER_INSTALL_TORCH is for LibTorch on CPUs: switch it or PERCEIVER_CUDA off")
endif()
set(private_libraries ${CMAKE_INSTALL_LIBDIR}/perceiver)
if(PERCEIVER_INSTALL_TORCH)
  foreach(name c10 torch torch_cpu)
    install(FILES ${torch_lib}/lib${name}.so DESTINATION ${private_libraries} COMPONENT program)
  endforeach()
  if(EXISTS ${torch_lib}/libgomp.so.1)
    install(FILES ${torch_lib}/libgomp.so.1 DESTINATION ${private_libraries} COMPONENT program)
  endif()
  file(RELATIVE_PATH from_program ${CMAKE_INSTALL_FULL_BINDIR}
    ${CMAKE_INSTALL_FULL_LIBDIR}/perceiver)
  set_target_properties(perceiver PROPERTIES INSTALL_RPATH "$ORIGIN/${from_program}")
  # RPATH, not RUNPATH: it counts for the libraries of libraries, too.
  target_link_options(perceiver PRIVATE -Wl,--disable-new-dtags)
else()
  set_target_properties(perceiver PROPERTIES INSTALL_RPATH ${torch_lib})
endif()
install(TARGETS perceiver COMPONENT program)
install(DIRECTORY configs experiments labels models samples
  DESTINATION ${CMAKE_INSTALL_DATADIR}/perceiver COMPONENT program)

# The program writes its own manual page and completion.
set(written ${PROJECT_BINARY_DIR}/written)
file(MAKE_DIRECTORY ${written})
install(CODE "
  function(written_by name)
    execute_process(COMMAND $<TARGET_FILE:perceiver> \${ARGN}
      OUTPUT_FILE ${written}/\${name} COMMAND_ERROR_IS_FATAL ANY)
  endfunction()
  written_by(perceiver.1 help --man)
  foreach(shell bash zsh fish)
    written_by(\${shell} completion \${shell})
  endforeach()" COMPONENT program)
install(FILES ${written}/perceiver.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
foreach(file
    bash:bash-completion/completions/perceiver
    zsh:zsh/site-functions/_perceiver
    fish:fish/vendor_completions.d/perceiver.fish)
  string(REPLACE ":" ";" pair ${file})
  list(GET pair 0 shell)
  list(GET pair 1 path)
  cmake_path(GET path PARENT_PATH folder)
  cmake_path(GET path FILENAME name)
  install(FILES ${written}/${shell} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} RENAME ${name}
    COMPONENT program)
endforeach()

install(FILES perceiver/perceiver.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/perceiver)

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

include(cmake/bundle.cmake)
