// A strict reader of zip archives, for the torch files that are one.
//
// Entries are stored or deflated. The central directory must lie where it says and list each entry
// once; entries may not overlap, nor expand out of proportion. Several disks and encryption are
// refused.
#pragma once

#include <map>
#include <string>

#include "perceiver/weights/bytes.h"

namespace perceiver {

class Zip {
 public:
  // Entries that expand to more than so many times their size are refused; weights hardly shrink.
  explicit Zip(Bytes file, uint64_t max_expansion = 100);

  struct Entry {
    uint64_t offset = 0;  // of the bytes in the file
    uint64_t packed_size = 0, size = 0;
    uint32_t checksum = 0;
    bool deflated = false;
  };
  const std::map<std::string, Entry>& entries() const { return entries_; }

  // The bytes of an entry, checked against its checksum: a view of the file for a stored entry.
  Bytes read(const std::string& name) const;

 private:
  Bytes file_;
  std::map<std::string, Entry> entries_;
};

}  // namespace perceiver
