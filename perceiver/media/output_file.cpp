#include "perceiver/media/output_file.h"

#include <algorithm>
#include <utility>

#include "perceiver/core/error.h"

namespace perceiver {

OutputFile::OutputFile(const std::filesystem::path& path) : name_(path.string()), file_(path) {
  auto* buffer = static_cast<uint8_t*>(ffmpeg().av_malloc(kIoBufferBytes));
  io_.reset(allocated(ffmpeg().avio_alloc_context(buffer, kIoBufferBytes, /*write_flag=*/1, this,
                                                  nullptr, &OutputFile::put, seek)));
}

template <typename Byte>
int OutputFile::put(void* self, Byte* bytes, int size) {
  auto& output = *static_cast<OutputFile*>(self);
  try {
    output.file_.write({reinterpret_cast<const char*>(bytes), static_cast<size_t>(size)});
  } catch (const Error&) {
    output.error_ = std::current_exception();
    return AVERROR(EIO);
  }
  output.at_ += size;
  output.size_ = std::max(output.size_, output.at_);
  return size;
}

int64_t OutputFile::seek(void* self, int64_t offset, int whence) {
  auto& output = *static_cast<OutputFile*>(self);
  if (whence & AVSEEK_SIZE) return output.size_;
  const int64_t from[] = {0, output.at_, output.size_};  // SEEK_SET, SEEK_CUR, SEEK_END
  const int64_t to = from[whence & 3] + offset;
  if ((whence & 3) > SEEK_END || to < 0) return AVERROR(EINVAL);
  try {
    output.file_.seek(to);
  } catch (const Error&) {
    output.error_ = std::current_exception();
    return AVERROR(EIO);
  }
  return output.at_ = to;
}

void OutputFile::check(int result) {
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  if (result < 0) fail("{}: cannot write: {}", name_, av_words(result));
}

void OutputFile::commit() {
  ffmpeg().avio_flush(io_.get());
  check(io_->error);
  file_.commit();
}

}  // namespace perceiver
