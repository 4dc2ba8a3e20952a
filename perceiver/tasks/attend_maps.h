// Whose attention is drawn, and over what: groups of latents, or the query for the class.
#pragma once

#include <string>
#include <vector>

#include "perceiver/kernels/attention/attention_map.h"
#include "perceiver/tasks/application.h"
#include "perceiver/tasks/attend_draw.h"

namespace perceiver {

// Queries and keys of the encoder's attention, and of the last: the decoder's.
struct Looks {
  AttentionInputs encoder, decoder;
};

// A pass of the model, looked at. Without the decoder it ends as soon as the encoder was seen.
Looks look(Application& task, const Example& inputs, bool decoder);

// Which latents a picture shows, and their name.
struct Group {
  std::string name;
  std::vector<int64_t> latents;  // empty: all, by the query's attention
};

struct Groups {
  std::vector<Group> groups;
  Tensor weights;  // [K, N]
};

// The query looks at latents, which looked at the input: the product of the two maps. What the
// self-attends in between moved around is not in it.
Groups class_query(const Looks& looks);

struct GroupingOptions {
  int64_t clusters;
  uint64_t seed;
  std::optional<int64_t> head = {};
};
Groups clustered_latents(const Looks& looks, const InputView& view, const GroupingOptions& options);

// The part of the input that is drawn on: what is seen before what is not.
const InputView& shown_view(const std::vector<InputView>& views);
int64_t elements(const InputView& view);

// maps [K, M], one of each group -> as they lie over the view
std::vector<NamedMap> maps_over(const InputView& view, const Groups& groups, const Tensor& maps);

}  // namespace perceiver
