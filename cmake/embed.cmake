# cmake -DFILE=a.json -DHEADER=path/to/header.h -DFUNCTION=name -DOUT=a.cpp -P cmake/embed.cmake: writes a
# file as a C++ source whose function, which the header declares, gives its text.
file(READ ${FILE} text)
file(WRITE ${OUT} "#include \"${HEADER}\"

namespace perceiver {

std::string_view ${FUNCTION}() {
  return R\"~file~(${text})~file~\";
}

}  // namespace perceiver
")
