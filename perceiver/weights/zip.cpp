#include "perceiver/weights/zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "perceiver/core/error.h"

namespace perceiver {

namespace {

// Names of the fields as in PKWARE's APPNOTE.TXT, section 4.3.
constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50,
                   kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr uint64_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56,
                   kEnd64LocatorSize = 20;
constexpr uint64_t kFull16 = 0xffff, kFull32 = 0xffffffff;  // "see the zip64 record"
constexpr uint16_t kExtra64 = 1;
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint16_t kEncrypted = 1;

// zlib counts in 32 bits.
constexpr uint64_t kMaxDeflatedSize = uint64_t{1} << 31;

// Reads at an offset that the caller has checked.
template <typename T>
T get(std::string_view data, uint64_t offset) {
  T value;
  std::memcpy(&value, data.data() + offset, sizeof(T));
  return value;
}

struct Directory {
  uint64_t offset, size, num_entries;
};

uint64_t find_end(const Bytes& file) {
  const std::string_view data = file.data;
  if (data.size() >= kEndSize) {
    const uint64_t last = data.size() - kEndSize;
    const uint64_t first = last > kFull16 ? last - kFull16 : 0;  // the longest comment
    for (uint64_t at = last + 1; at-- > first;) {
      if (get<uint32_t>(data, at) != kEnd) continue;
      if (at + kEndSize + get<uint16_t>(data, at + 20) == data.size()) return at;
    }
  }
  fail("{}: zip without its end; cut short?", file.name);
}

Directory find_directory(const Bytes& file) {
  const std::string_view data = file.data;
  uint64_t end = find_end(file);
  if (get<uint16_t>(data, end + 4) != 0 || get<uint16_t>(data, end + 6) != 0) {
    fail("{}: zip over several disks", file.name);
  }
  Directory directory{get<uint32_t>(data, end + 16), get<uint32_t>(data, end + 12),
                      get<uint16_t>(data, end + 10)};
  const bool is_full =
      directory.offset == kFull32 || directory.size == kFull32 || directory.num_entries == kFull16;
  const uint64_t locator = end < kEnd64LocatorSize ? 0 : end - kEnd64LocatorSize;
  const bool has_end64 = end >= kEnd64LocatorSize && get<uint32_t>(data, locator) == kEnd64Locator;
  if (is_full && !has_end64) {
    fail("{}: zip without the zip64 record that its end asks for", file.name);
  }
  if (has_end64) {  // torch writes one whether it is needed or not
    const uint64_t end64 = get<uint64_t>(data, locator + 8);
    if (locator < kEnd64Size || end64 > locator - kEnd64Size ||
        get<uint32_t>(data, end64) != kEnd64) {
      fail("{}: zip64 record is not at byte {}", file.name, end64);
    }
    directory = {get<uint64_t>(data, end64 + 48), get<uint64_t>(data, end64 + 40),
                 get<uint64_t>(data, end64 + 32)};
    end = end64;
  }
  if (directory.offset > end || directory.size != end - directory.offset) {
    fail("{}: zip directory of {} bytes at byte {}, expected to end at byte {}", file.name,
         directory.size, directory.offset, end);
  }
  if (directory.num_entries > directory.size / kCentralSize) {
    fail("{}: zip directory of {} bytes, too few for {} entries", file.name, directory.size,
         directory.num_entries);
  }
  return directory;
}

struct Listed {
  std::string name;
  Zip::Entry entry;
  uint64_t local_offset;
};

// Replaces the sizes and the offset that do not fit 32 bits, in the order the format gives them.
void read_zip64_extra(std::string_view extra, Listed& listed, const std::string& file_name) {
  uint64_t* fields[] = {&listed.entry.size, &listed.entry.packed_size, &listed.local_offset};
  const auto is_full = [](const uint64_t* field) { return *field == kFull32; };
  if (std::none_of(std::begin(fields), std::end(fields), is_full)) return;
  while (extra.size() >= 4) {
    const uint16_t id = get<uint16_t>(extra, 0);
    const uint64_t size = get<uint16_t>(extra, 2);
    extra.remove_prefix(4);
    if (size > extra.size()) break;
    std::string_view body = extra.substr(0, size);
    extra.remove_prefix(size);
    if (id != kExtra64) continue;
    for (uint64_t* field : fields) {
      if (*field != kFull32) continue;
      if (body.size() < 8) break;
      *field = get<uint64_t>(body, 0);
      body.remove_prefix(8);
    }
    return;
  }
  fail("{}: zip entry '{}' without its zip64 sizes", file_name, printable(listed.name));
}

// The entry at the front of the rest of the directory, which moves on.
Listed read_central_header(std::string_view& rest, const std::string& file_name,
                           uint64_t max_expansion) {
  if (rest.size() < kCentralSize || get<uint32_t>(rest, 0) != kCentralHeader) {
    fail("{}: zip directory is broken", file_name);
  }
  const uint64_t name_size = get<uint16_t>(rest, 28), extra_size = get<uint16_t>(rest, 30);
  const uint64_t size = kCentralSize + name_size + extra_size + get<uint16_t>(rest, 32);
  if (size > rest.size()) fail("{}: zip directory is broken", file_name);

  const uint16_t flags = get<uint16_t>(rest, 8), method = get<uint16_t>(rest, 10);
  Listed listed{.name = std::string(rest.substr(kCentralSize, name_size)),
                .entry = {.packed_size = get<uint32_t>(rest, 20),
                          .size = get<uint32_t>(rest, 24),
                          .checksum = get<uint32_t>(rest, 16),
                          .deflated = method == kDeflated},
                .local_offset = get<uint32_t>(rest, 42)};
  read_zip64_extra(rest.substr(kCentralSize + name_size, extra_size), listed, file_name);
  const std::string entry = fmt::format("{}: zip entry '{}'", file_name, printable(listed.name));
  if (flags & kEncrypted) fail("{} is encrypted", entry);
  if (method != kStored && method != kDeflated) {
    fail("{} is packed with method {}, expected stored (0) or deflated (8)", entry, method);
  }
  if (method == kStored && listed.entry.size != listed.entry.packed_size) {
    fail("{} is stored in {} bytes and has {}", entry, listed.entry.packed_size, listed.entry.size);
  }
  if (listed.entry.size / max_expansion > listed.entry.packed_size) {
    fail("{} expands from {} bytes to {}, more than {} times", entry, listed.entry.packed_size,
         listed.entry.size, max_expansion);
  }
  const uint64_t larger = std::max(listed.entry.size, listed.entry.packed_size);
  if (method == kDeflated && larger > kMaxDeflatedSize) {
    fail("{} is deflated and has {} bytes, expected at most {}", entry, larger, kMaxDeflatedSize);
  }
  rest.remove_prefix(size);
  return listed;
}

// Finds the bytes behind the local header; `limit` is where the entry must have ended.
void locate(const Bytes& file, Listed& listed, uint64_t limit) {
  const std::string_view data = file.data;
  const std::string entry = fmt::format("{}: zip entry '{}'", file.name, printable(listed.name));
  const uint64_t local = listed.local_offset;
  if (local > limit || limit - local < kLocalSize || get<uint32_t>(data, local) != kLocalHeader) {
    fail("{} is not at byte {}, where the directory says", entry, local);
  }
  const uint64_t name_size = get<uint16_t>(data, local + 26);
  const uint64_t begin = local + kLocalSize + name_size + get<uint16_t>(data, local + 28);
  if (begin > limit || listed.entry.packed_size > limit - begin) {
    fail("{} has {} bytes from byte {}, the next begins at {}", entry, listed.entry.packed_size,
         begin, limit);
  }
  if (data.substr(local + kLocalSize, name_size) != listed.name) {
    fail("{} has another name in its own header", entry);
  }
  listed.entry.offset = begin;
}

std::string inflate_all(std::string_view packed, uint64_t size, std::string_view entry) {
  std::string bytes(size, '\0');
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(size);
  const int started = inflateInit2(&stream, -MAX_WBITS);  // raw, as in a zip
  TORCH_INTERNAL_ASSERT(started == Z_OK);
  const int status = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  if (status != Z_STREAM_END || stream.avail_out != 0 || stream.avail_in != 0) {
    fail("{} does not inflate to its {} bytes", entry, size);
  }
  return bytes;
}

}  // namespace

Zip::Zip(Bytes file, uint64_t max_expansion) : file_(std::move(file)) {
  const Directory directory = find_directory(file_);
  std::string_view rest = file_.data.substr(directory.offset, directory.size);
  std::vector<Listed> listed;
  for (uint64_t i = 0; i < directory.num_entries; ++i) {
    listed.push_back(read_central_header(rest, file_.name, max_expansion));
  }
  if (!rest.empty()) fail("{}: zip directory has {} bytes too many", file_.name, rest.size());

  // Each must end before the next begins, and the last before the directory.
  std::sort(listed.begin(), listed.end(),
            [](const Listed& a, const Listed& b) { return a.local_offset > b.local_offset; });
  uint64_t limit = directory.offset;
  for (Listed& one : listed) {
    locate(file_, one, limit);
    limit = one.local_offset;
    if (!entries_.emplace(one.name, one.entry).second) {
      fail("{}: zip has '{}' twice", file_.name, printable(one.name));
    }
  }
}

Bytes Zip::read(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) fail("{}: zip has no '{}'", file_.name, printable(name));
  const Entry& entry = found->second;
  const std::string what = fmt::format("{}: zip entry '{}'", file_.name, printable(name));
  Bytes bytes = slice(file_, entry.offset, entry.packed_size);
  if (entry.deflated) {
    bytes = own_bytes({file_.name, inflate_all(bytes.data, entry.size, what)});
  }
  const auto checksum = static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data.data()), bytes.data.size()));
  // torch writes 0 when it is told not to compute checksums.
  if (entry.checksum != 0 && checksum != entry.checksum) {
    fail("{} has checksum {:08x}, expected {:08x}", what, checksum, entry.checksum);
  }
  return bytes;
}

}  // namespace perceiver
