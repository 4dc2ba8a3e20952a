#include "cli/demo_domains.h"

#include <array>

namespace perceiver {

static constexpr std::array kDomains = {
    DemoDomain{"words", "language-mini", demo_words,
               "A word was missing from each sentence. The model read the rest, byte by byte, and "
               "filled it in; below each, the words it found likeliest.",
               "fill \"She opened the [MASK] and looked into the garden.\""},
    DemoDomain{
        "pictures", "image-mini", demo_pictures,
        "Ten drawings for a model that has only ever seen photographs of 32 x 32 pixels. On the "
        "right, where it looked for the answer: the brighter, the more.",
        "classify {}/pictures/frog.png -k 10"},
    DemoDomain{"motion", "flow-mini", demo_motion,
               "Where did each pixel go between two frames? Colours say in which direction, their "
               "strength how far.",
               "flow {}/flow/camera -o flow.png --legend"},
    DemoDomain{
        "sounds", "sound-mini", demo_sounds,
        "A voice made of formulas says a digit. The model, which has only ever heard people, "
        "says which; six of ten are right.",
        "classify {}/digits/one.wav"},
    DemoDomain{"entities", "entity-mini", demo_entities,
               "A made-up opening of a game, two bases on a map. What a ring is was not said; the "
               "model tells it from all others. It knows what is many, six of fourteen, and "
               "takes single buildings for that, too.",
               "classify {}/entities.jsonl"},
    DemoDomain{"clips", "multimodal-mini", demo_clips,
               "Pictures and sound went through one small array of numbers, and back. Left the "
               "original, right what came out.",
               "autoencode {}/clip.avi"}};

std::span<const DemoDomain> demo_domains() { return kDomains; }

}  // namespace perceiver
