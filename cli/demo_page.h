// The page that `perceiver demo` leaves: all that was shown and written.
#pragma once

#include "cli/demo.h"

namespace perceiver {

class DemoPage {
 public:
  explicit DemoPage(std::filesystem::path folder);  // fails where it could not be written

  std::filesystem::path folder_for(const std::string& domain) const;  // which is then there
  void add(const std::string& title, const DemoPart& part);
  std::string write() const;  // -> its path, in the folder

 private:
  std::filesystem::path folder_;
  std::string html_;
};

}  // namespace perceiver
