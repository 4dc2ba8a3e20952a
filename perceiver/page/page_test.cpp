#include "perceiver/page/page.h"

#include <gtest/gtest.h>

#include <regex>

namespace perceiver {
namespace {

int64_t count(const std::string& pattern) {
  const std::string html(page_html());
  const std::regex regex(pattern);
  return std::distance(std::sregex_iterator(html.begin(), html.end(), regex), {});
}

TEST(Page, IsOneFileWithOneScriptAndOneStyle) {
  EXPECT_EQ(count("<script>"), 1);
  EXPECT_EQ(count("</script>"), 1);
  EXPECT_EQ(count("<style>"), 1);
  EXPECT_EQ(count("<script "), 0);
  EXPECT_EQ(count("rel=\"stylesheet\""), 0);
  EXPECT_TRUE(page_html().starts_with("<!doctype html>"));
  EXPECT_TRUE(page_html().ends_with("</html>\n"));
}

TEST(Page, HasNothingThatItsPolicyForbids) {
  EXPECT_EQ(count(" style=\""), 0);
  EXPECT_EQ(count(" on[a-z]+=\""), 0);
  EXPECT_EQ(count("javascript:"), 0);
}

TEST(Page, NamesNoOtherServer) {
  // The name of the SVG format is never asked for.
  EXPECT_EQ(count("https?://"), count("http://www\\.w3\\.org/2000/svg"));
}

TEST(Page, RunsWhatItCarriesAndNothingElse) {
  const HttpResponse response = page_response();
  EXPECT_EQ(response.content_type, "text/html; charset=utf-8");
  EXPECT_EQ(response.body, page_html());
  const auto& [name, policy] = response.headers.at(0);
  EXPECT_EQ(name, "Content-Security-Policy");
  const std::string hash = "'sha256-[A-Za-z0-9+/]{43}='";
  EXPECT_TRUE(std::regex_match(
      policy, std::regex("default-src 'none'; script-src " + hash + "; style-src " + hash +
                         "; connect-src 'self'; img-src 'self' blob: data:; media-src 'self' "
                         "blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")))
      << policy;
}

}  // namespace
}  // namespace perceiver
