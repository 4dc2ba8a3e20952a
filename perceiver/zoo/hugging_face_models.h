// What transformers' classes make of the keys of a config.json, as the settings of our models. What
// those classes fix in code is fixed here.
#pragma once

#include "perceiver/tasks/imagenet/model.h"
#include "perceiver/tasks/language/classifier.h"
#include "perceiver/tasks/language/model.h"
#include "perceiver/tasks/multimodal/model.h"
#include "perceiver/tasks/optical_flow/model.h"
#include "perceiver/zoo/json_keys.h"

namespace perceiver {

LanguageConfig language_of(const Keys& keys);
TextClassifierConfig text_classifier_of(const Keys& keys);
ImageNetConfig image_of(const Keys& keys, ImageInput input);
OpticalFlowConfig flow_of(const Keys& keys);
MultimodalConfig multimodal_of(const Keys& keys);

}  // namespace perceiver
