// WAV, which needs no library.
#pragma once

#include "perceiver/media/sound.h"

namespace perceiver {

bool is_wav(std::string_view bytes);

// PCM of 8, 16, 24 and 32 bits, floats of 32 and 64. Another codec inside is left to FFmpeg.
Sound decode_wav(const File& file);

}  // namespace perceiver
