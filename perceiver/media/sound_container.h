// Sound through FFmpeg's libraries.
#pragma once

#include "perceiver/media/sound.h"

namespace perceiver {

// Fails where there is no sound; in a build without FFmpeg, always.
Sound decode_sound_container(const File& file);

}  // namespace perceiver
