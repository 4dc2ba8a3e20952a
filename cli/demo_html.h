// What the parts of `perceiver demo` put on its page: HTML that needs no other file, so that the
// page can be sent as it is.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "perceiver/core/tensor.h"
#include "perceiver/tasks/classes.h"
#include "perceiver/tasks/language/fill_texts.h"

namespace perceiver {

// A file inside an attribute: data:image/png;base64,…
std::string data_uri(const std::string& type, std::string_view bytes);
std::string data_uri(const std::filesystem::path& file);  // a .png, .wav or .mp4

// pixels uint8 [3, H, W]
std::string image_html(const Tensor& pixels, const std::string& meaning);

std::string figure_html(const std::string& inside, const std::string& caption);

// Names with their probabilities as bars, the first one in bold.
std::string bars_html(std::span<const RankedClass> classes);

// A text with its words filled in, and what else they could be.
std::string filled_html(const FilledText& filled);

}  // namespace perceiver
