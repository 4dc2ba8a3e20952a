// Labelled texts, or pairs of them, as rows of ids.
#pragma once

#include "perceiver/modalities/text.h"

namespace perceiver {

// a [SEP] b in at most `length` ids, the longer text cropped first; a alone where b is empty.
Ids pair_ids(Ids a, Ids b, int64_t sep, int64_t length);

// Texts of one batch, ids [m] each, as long as the longest, rounded up a little, and no longer than
// `max_length`.
TokenBatch pad_together(const std::vector<Tensor>& texts, int64_t max_length, int64_t pad_id);

}  // namespace perceiver
