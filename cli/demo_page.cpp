#include "cli/demo_page.h"

#include <fmt/format.h>

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/core/output_place.h"
#include "perceiver/media/image.h"

namespace perceiver {

namespace fs = std::filesystem;

namespace {

std::string escaped(const std::string& text) {
  std::string html;
  for (const char c : text) html += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return html;
}

}  // namespace

DemoPage::DemoPage(fs::path folder) : folder_(std::move(folder)) {
  std::error_code ignored;
  if (fs::exists(folder_, ignored) && !fs::is_directory(folder_, ignored)) {
    fail("{}: is no folder; name a folder with -o", folder_.string());
  }
  check_writable(folder_);
}

fs::path DemoPage::folder_for(const std::string& domain) const {
  const fs::path folder = folder_ / domain;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail("{}: cannot write: {}", folder.string(), error.message());
  return folder;
}

void DemoPage::add(const std::string& title, const DemoPart& part) {
  html_ += fmt::format("<h2>{}</h2>\n<pre>{}</pre>\n", title, escaped(part.text));
  for (const fs::path& file : part.written) {
    const std::string name = fs::relative(file, folder_).string();
    html_ += has_image_ending(file)
                 ? fmt::format(
                       "<figure><img src=\"{0}\" alt=\"\"><figcaption>{0}</figcaption>"
                       "</figure>\n",
                       name)
                 : fmt::format("<p><a href=\"{0}\">{0}</a></p>\n", name);
  }
}

std::string DemoPage::write() const {
  write_file(folder_ / "index.html",
             "<!doctype html>\n<meta charset=\"utf-8\">\n<title>perceiver demo</title>\n"
             "<style>body{font:16px/1.5 sans-serif;max-width:70em;margin:2em auto}"
             "figure{margin:1em 0}img{max-width:100%}</style>\n" +
                 html_);
  return (folder_ / "index.html").string();
}

}  // namespace perceiver
