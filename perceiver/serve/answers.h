// Results as they go over the wire.
#pragma once

#include "perceiver/http/message.h"
#include "perceiver/tasks/query.h"

namespace perceiver {

// What latents answered, in the form of `accept` that there is: JSON, or a picture, a sound, a .flo
// or safetensors. `more` goes into the JSON. Refuses with 406.
HttpResponse answer_response(const Answer& answer, const HttpRequest& request,
                             nlohmann::ordered_json more);

// weights [H, W], [T, H, W] or [elements] as lists of lists, the largest 1, in steps of 1/10,000:
// more digits would only be sent.
nlohmann::ordered_json weights_json(const Tensor& weights);

HttpResponse bytes_response(std::string type, std::string bytes);

}  // namespace perceiver
