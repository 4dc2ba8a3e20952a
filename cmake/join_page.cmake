# cmake -DPAGE=perceiver/page -DOUT=page_html.cpp -P cmake/join_page.cmake: joins index.html with the
# style and the scripts that it names, and writes it as a C++ source.
file(READ ${PAGE}/index.html html)

file(READ ${PAGE}/page.css style)
string(REPLACE "<link rel=\"stylesheet\" href=\"page.css\">" "<style>\n${style}</style>" html "${html}")

string(REGEX MATCHALL "<script src=\"[a-z]+\\.js\"></script>\n" names "${html}")
set(script "")
foreach(name ${names})
  string(REGEX REPLACE ".*\"([a-z]+\\.js)\".*" "\\1" file "${name}")
  file(READ ${PAGE}/${file} source)
  string(APPEND script "${source}")
endforeach()
string(REGEX REPLACE "<script src=.*</script>\n" "@SCRIPT@" html "${html}")
string(REPLACE "@SCRIPT@" "<script>\n${script}</script>\n" html "${html}")

file(WRITE ${OUT} "#include \"perceiver/page/page.h\"

namespace perceiver {

std::string_view page_html() {
  return R\"~page~(${html})~page~\";
}

}  // namespace perceiver
")
