// "new": a beginning for a task over arrays of one's own.
#pragma once

namespace CLI {
class App;
}

namespace perceiver {

void add_new_command(CLI::App& app);

}  // namespace perceiver
