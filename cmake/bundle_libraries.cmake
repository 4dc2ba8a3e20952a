# Run while installing (bundle.cmake): copies into `libraries` what `program` and the libraries in
# `opened_later` need, but LibTorch's, which the program brings, and the C library's own; and into
# `documents` what Debian says of their licences.
cmake_policy(VERSION 3.25)
file(GET_RUNTIME_DEPENDENCIES
  EXECUTABLES ${program}
  LIBRARIES ${opened_later}
  RESOLVED_DEPENDENCIES_VAR found
  UNRESOLVED_DEPENDENCIES_VAR not_found
  CONFLICTING_DEPENDENCIES_PREFIX twice
  PRE_EXCLUDE_REGEXES
    "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv|util|anl|mvec|nsl|nss_.*|BrokenLocale|thread_db)\\.so")
if(not_found)
  message(FATAL_ERROR "these libraries of the program are not here: ${not_found}")
endif()
foreach(name IN LISTS twice_FILENAMES)
  list(APPEND found ${twice_${name}})
endforeach()
foreach(library IN LISTS opened_later)
  file(REAL_PATH ${library} library)
  # Under the name that the program opens: libavcodec.so.59 for libavcodec.so.59.37.100.
  cmake_path(GET library FILENAME name)
  string(REGEX REPLACE "(\\.so\\.[0-9]+).*" "\\1" name ${name})
  file(INSTALL ${library} DESTINATION ${libraries} RENAME ${name})
endforeach()

file(GLOB torch_libraries RELATIVE ${torch_lib} ${torch_lib}/*.so*)
set(packages)
foreach(path IN LISTS found)
  cmake_path(GET path FILENAME name)
  if(name IN_LIST torch_libraries)
    continue()
  endif()
  file(REAL_PATH ${path} library)
  file(INSTALL ${library} DESTINATION ${libraries} RENAME ${name})
  execute_process(COMMAND dpkg-query -S ${library} OUTPUT_VARIABLE owner ERROR_QUIET)
  string(REGEX REPLACE ":.*" "" owner "${owner}")
  list(APPEND packages ${owner})
endforeach()
list(REMOVE_DUPLICATES packages)
foreach(package IN LISTS packages)
  if(EXISTS /usr/share/doc/${package}/copyright)
    file(REAL_PATH /usr/share/doc/${package}/copyright text)
    file(INSTALL ${text} DESTINATION ${documents}/libraries RENAME ${package})
  endif()
endforeach()
file(GLOB torch_licence "${torch_lib}/../../torch-*.dist-info/LICENSE*"
  "${torch_lib}/../../torch-*.dist-info/licenses/LICENSE*")
foreach(text IN LISTS torch_licence)
  file(INSTALL ${text} DESTINATION ${documents}/libraries RENAME libtorch)
endforeach()
