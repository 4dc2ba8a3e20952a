#include "cli/demo_page.h"

#include <fmt/format.h>

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/core/markup.h"
#include "perceiver/core/output_place.h"

namespace perceiver {

namespace fs = std::filesystem;

namespace {

constexpr const char* kHead = R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Small Perceivers at work</title>
<style>
:root { color-scheme: light dark; --paper: #fbfaf6; --raised: #fff; --ink: #23211e; --soft: #67635b;
  --line: #e3ded3; --accent: #b3482a; --wash: #f7e6dc;
  --serif: "Iowan Old Style", "Palatino Linotype", Palatino, P052, Georgia, serif; }
@media (prefers-color-scheme: dark) { :root { --paper: #141519; --raised: #1c1e23; --ink: #ebe7de;
  --soft: #a5a097; --line: #31333a; --accent: #ef9069; --wash: #3a251d; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 66rem; padding: 3rem clamp(1rem, 4vw, 3rem); background: var(--paper);
  color: var(--ink); font: 1rem/1.6 system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
h1, h2, .words p:first-child { font-family: var(--serif); font-weight: 500; }
h1 { font-size: clamp(2rem, 6vw, 3.2rem); line-height: 1.1; margin: 0 0 1rem; }
h2 { font-size: 1.7rem; margin: 0; }
h2::first-letter { text-transform: uppercase; }
header p, section > p { max-width: 42rem; margin: 0 0 0.6rem; }
section { padding: 2.4rem 0; border-top: 1px solid var(--line); }
.soft, figcaption, .others { color: var(--soft); font-size: 0.9rem; }
a { color: var(--accent); }
figure { margin: 0; padding: 0.8rem; background: var(--raised); border: 1px solid var(--line); border-radius: 0.6rem; }
img { display: block; width: 100%; border-radius: 0.3rem; }
audio, video { width: 100%; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(18rem, 1fr)); gap: 1rem; }
.cards.thirds { grid-template-columns: repeat(3, minmax(0, 1fr)); }
@media (max-width: 45rem) { .cards.thirds { grid-template-columns: 1fr; } }
.words { list-style: none; margin: 0; padding: 0; display: grid; gap: 1rem; }
.words p { margin: 0; }
.words p:first-child { font-size: 1.25rem; line-height: 1.4; }
.others span { white-space: nowrap; margin-right: 0.8rem; }
mark { background: var(--wash); color: var(--accent); padding: 0 0.15em; border-radius: 0.2em; }
.bars { list-style: none; margin: 0.6rem 0 0; padding: 0; }
.bars li { display: grid; grid-template-columns: 7rem 1fr 3.2rem; gap: 0.6rem; align-items: center; }
.bars li:first-child span { font-weight: 600; color: var(--ink); }
.bars b, .others b { font-weight: 400; font-variant-numeric: tabular-nums; text-align: right; }
meter { width: 100%; height: 0.7rem; }
.moving { position: relative; }
.moving img + img { position: absolute; inset: 0; animation: blink 1.2s steps(1) infinite; }
@keyframes blink { 50% { opacity: 0; } }
pre { overflow-x: auto; padding: 0.8rem; background: var(--raised); border: 1px solid var(--line); border-radius: 0.6rem; }
</style>
<header>
<h1>Small Perceivers at work</h1>
<p>One architecture for everything: whatever comes in, a small array of latents looks at it, works on
what it saw, and answers what it is asked
(<a href="https://arxiv.org/abs/2107.14795">Perceiver IO</a>, Jaegle et al., 2022). The models below have
a few megabytes each, ran on an ordinary processor, and are shown as they are, mistakes included.</p>
</header>
)";

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

void DemoPage::add(const std::string& domain, const std::string& about, const std::string& made_by,
                   const DemoPart& part) {
  html_ += fmt::format(
      "<section id=\"{0}\">\n<h2>{0}</h2>\n<p>{1}</p>\n<p class=\"soft\">{2}</p>\n{3}</section>\n",
      domain, about, escaped(made_by), part.html);
  for (const fs::path& file : part.written) {
    const std::string name = fs::relative(file, folder_).string();
    files_ += fmt::format("<li><a href=\"{0}\">{0}</a></li>\n", name);
  }
}

std::string DemoPage::write(const std::vector<std::string>& commands) const {
  std::string html = kHead + html_ +
                     "<section>\n<h2>To try yourself</h2>\n<p>On these samples or on what is "
                     "yours:</p>\n<pre>";
  for (const std::string& command : commands) html += escaped(command) + "\n";
  html +=
      "</pre>\n<details class=\"soft\"><summary>Files that lie beside this page</summary>\n<ul>\n" +
      files_ + "</ul>\n</details>\n</section>\n";
  write_file(folder_ / "index.html", html);
  return (folder_ / "index.html").string();
}

}  // namespace perceiver
