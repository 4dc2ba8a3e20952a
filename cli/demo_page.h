// The page that `perceiver demo` leaves: all that was shown, in one file that can be sent as it is.
#pragma once

#include "cli/demo.h"

namespace perceiver {

class DemoPage {
 public:
  explicit DemoPage(std::filesystem::path folder);  // fails where it could not be written

  std::filesystem::path folder_for(const std::string& domain) const;  // which is then there
  // `about` says in a sentence or two what is seen, `made_by` with what.
  void add(const std::string& domain, const std::string& about, const std::string& made_by,
           const DemoPart& part);
  // With commands to try -> its path, in the folder.
  std::string write(const std::vector<std::string>& commands) const;

 private:
  std::filesystem::path folder_;
  std::string html_, files_;
};

}  // namespace perceiver
