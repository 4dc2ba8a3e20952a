#pragma once

#include "perceiver/serve/parts.h"

namespace perceiver {

// 202 with the job's place, or 429 where too many wait.
HttpResponse begin_job(ServerParts& parts, JobTask task);

}  // namespace perceiver
