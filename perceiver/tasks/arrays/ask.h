// Files of arrays encoded, and their latents asked: what people do with models of the task arrays
// beside running them whole.
#pragma once

#include "perceiver/tasks/arrays/model.h"
#include "perceiver/tasks/query.h"

namespace perceiver {

// The first example of a file as the model sees it, a batch of one.
Example first_example(const ArraysConfig& config, const File& file);

// The latents of all examples of a file, and beside them what queries are made of, as far as the
// file has it.
void encode_arrays(ArraysModelImpl& model, const ArraysConfig& config, const File& file,
                   LatentsFile& latents);

// What every query puts out, as run_arrays() gives it: asked at the places of query.at, else at
// those that came with the latents. Of a query that has neither there is a note instead.
Answer answer_arrays(ArraysModelImpl& model, const ArraysConfig& config, const LatentsFile& file,
                     const Query& query);

// How the inputs lie in the model's input array; columns are read, by their names.
std::vector<InputView> array_views(const ArraysConfig& config);

}  // namespace perceiver
