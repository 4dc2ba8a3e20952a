// Work for threads that are not equally fast.
#pragma once

#include <c10/util/FunctionRef.h>

#include <cstdint>

namespace perceiver {

// part(i) for each i below `count`, by all threads. Each goes along a stretch of its own, so that
// neighbours are one thread's; who is done takes over what others have not begun.
void share_out(int64_t count, c10::function_ref<void(int64_t)> part);

}  // namespace perceiver
