// All that a program needs to use a model: load it, then fill words, classify, estimate flow,
// autoencode, encode and query, or see what it looks at.
//
// Every function here switches gradients off by itself, prints nothing, and fails with an Error.
#pragma once

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/media/flow.h"
#include "perceiver/media/image.h"
#include "perceiver/media/video.h"
#include "perceiver/tasks/attend.h"                 // attend(), draw_maps()
#include "perceiver/tasks/classify.h"               // classify()
#include "perceiver/tasks/language/fill_texts.h"    // fill()
#include "perceiver/tasks/multimodal/autoencode.h"  // autoencode()
#include "perceiver/tasks/optical_flow/estimate.h"  // estimate_flow()
#include "perceiver/tasks/optical_flow/files.h"     // flow_of_files()
#include "perceiver/tasks/query.h"                  // encode(), query()
#include "perceiver/tasks/text_tasks.h"             // answer_tasks()
#include "perceiver/zoo/find.h"                     // find_model()
#include "perceiver/zoo/fingerprint.h"              // fingerprint()
#include "perceiver/zoo/model.h"                    // load_model(), save_model()
