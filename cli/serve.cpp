#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

#include "cli/commands.h"
#include "cli/serve_options.h"
#include "cli/session.h"
#include "perceiver/core/error.h"
#include "perceiver/core/interrupt.h"
#include "perceiver/serve/service.h"

namespace perceiver {
namespace {

// Stops the service when the program is asked to end; ends with it otherwise.
class StopWatch {
 public:
  StopWatch(Service& service, const StopOnInterrupt& interrupt)
      : thread_([this, &service, &interrupt] {
          while (!over_) {
            if (interrupt.signal() != 0) {
              note("stopping: what was accepted is answered first; once more ends at once");
              return service.stop();
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
          }
        }) {}
  ~StopWatch() {
    over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

void serve_verb(const ServeArgs& args) {
  const RunScope run = set_up(args.session);
  ServeOptions options = serve_options(args);
  options.version = PERCEIVER_VERSION;
  if (!args.session.quiet) {
    options.log = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  }
  const StopOnInterrupt interrupt(/*says=*/false);
  Service service(std::move(options));
  // For people and for programs that start this one: the only line of the standard output.
  fmt::print("{}\n", service.url());
  if (std::fflush(stdout) != 0) fail("standard output: cannot write");
  note(fmt::format("a page, the routes at {}/docs; Ctrl-C ends", service.url()));
  const StopWatch watch(service, interrupt);
  service.run();
}

}  // namespace

void add_serve_command(CLI::App& app) {
  auto args = std::make_shared<ServeArgs>();
  CLI::App* command = add_command(
      app, "serve", "Answer over HTTP: a page to try the models on, and routes for programs",
      "  perceiver serve\n"
      "  perceiver serve -m deepmind/language-perceiver --port 9000\n"
      "  perceiver serve --host 0.0.0.0 --api-key-file keys.txt --tls-cert cert.pem "
      "--tls-key key.pem\n"
      "  PERCEIVER_PORT=9000 perceiver serve\n"
      "  curl localhost:8080/fill -F text='He [MASK] never been there.'");
  add_serve_options(*command, *args);
  command->callback([args] { serve_verb(*args); });
}

}  // namespace perceiver
