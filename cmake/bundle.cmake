# `make package`: an archive that runs wherever it is unpacked, and a .deb, both with every library
# but the C library's own. LibTorch is the program's own to install (PERCEIVER_INSTALL_TORCH).
# Opened by the program itself when a video comes (media/ffmpeg_functions.cpp).
set(opened_later)
foreach(library avutil swresample swscale avcodec avformat)
  list(APPEND opened_later ${FFMPEG_lib${library}_LIBDIR}/lib${library}.so)
endforeach()
if(NOT FFMPEG_FOUND)
  set(opened_later)
endif()

# Where the program finds its libraries now are these, and those that these need. A library of
# LibTorch's is taken before the system's of the same name.
install(CODE "
  set(opened_later \"${opened_later}\")
  set(torch_lib \"${torch_lib}\")
  set(program \"$<TARGET_FILE:perceiver>\")
  set(libraries \"\${CMAKE_INSTALL_PREFIX}/${private_libraries}\")
  set(documents \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/doc/perceiver\")
  include(\"${PROJECT_SOURCE_DIR}/cmake/bundle_libraries.cmake\")"
  COMPONENT bundle EXCLUDE_FROM_ALL)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/perceiver
  COMPONENT bundle EXCLUDE_FROM_ALL)

set(CPACK_PACKAGE_NAME perceiver)
set(CPACK_PACKAGE_VENDOR "perceiver")
set(CPACK_PACKAGE_CONTACT "maintainers of perceiver <perceiver@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "run and train Perceiver IO's models")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_SOURCE_DIR}/dist)
set(CPACK_PACKAGE_FILE_NAME perceiver-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_GENERATOR TZST DEB)
set(CPACK_COMPONENTS_ALL program bundle)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/package_options.cmake)
set(CPACK_ARCHIVE_THREADS 0)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# The C library it was linked with, or a newer one.
execute_process(COMMAND ldd --version OUTPUT_VARIABLE libc_version ERROR_QUIET)
string(REGEX MATCH "[0-9]+\\.[0-9]+" libc_version "${libc_version}")
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= ${libc_version})")
include(CPack)
