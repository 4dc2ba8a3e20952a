#include "cli/serve_options.h"

#include <CLI/CLI.hpp>

#include "cli/checks.h"
#include "cli/commands.h"

namespace perceiver {
namespace {

void add_limits(CLI::App& command, ServeArgs& args) {
  const auto count = [&](const char* name, int64_t& value, const char* about, int64_t most) {
    command.add_option(name, value, about)->capture_default_str()->check(whole_number(1, most));
  };
  constexpr int64_t kMost = 1'000'000;
  count("--queue", args.queue,
        "Requests that models answer or that wait for them; more get 429 and a time to ask again",
        10'000);
  count("--batch", args.batch, "Requests of one model and shape that are computed together", 1024);
  count("--connections", args.connections, "Connections that are open at once", kMost);
  count("--body-mib", args.body_mib, "The largest body of a request, in MiB", kMost);
  count("--memory-mib", args.memory_mib, "Memory for the bodies of all requests, in MiB", kMost);
  count("--pixels", args.pixels, "The most pixels of a picture that is read", int64_t{1} << 28);
  count("--latents-mib", args.latents_mib,
        "Memory for latents that are kept, in MiB; those not asked for longest go first", kMost);
  command
      .add_option("--latents-minutes", args.latents_minutes,
                  "How long latents are kept after they were last asked")
      ->capture_default_str()
      ->check(positive_number());
  command.add_option("--seconds", args.media_seconds, "The longest clip or sound that is read")
      ->capture_default_str()
      ->check(positive_number())
      ->type_name("SECONDS");
  command
      .add_option("--patience", args.patience,
                  "Seconds in which a body has to come, and a connection may be silent")
      ->capture_default_str()
      ->check(positive_number());
}

// Of "--api-key-file" it is PERCEIVER_API_KEY_FILE.
void add_environment(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    if (option->get_lnames().empty() || option->get_lnames()[0] == "help") continue;
    std::string name = "PERCEIVER_" + option->get_lnames()[0];
    for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
    option->envname(name);
  }
}

}  // namespace

void add_serve_options(CLI::App& command, ServeArgs& args) {
  command
      .add_option("-m,--model", args.models,
                  "A model to serve, as other verbs take it; may be given several times; default: "
                  "all that come with the program. Every option can be given as a variable of the "
                  "environment, too: PERCEIVER_MODEL, PERCEIVER_PORT …")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--host", args.host, "The address to listen at; 0.0.0.0: all of this machine")
      ->capture_default_str()
      ->type_name("ADDRESS");
  command.add_option("--port", args.port, "The port to listen at; 0: any that is free")
      ->capture_default_str()
      ->check(whole_number(0, 65535));
  const auto text = [&](const char* name, std::string& value, const char* type, const char* about) {
    command.add_option(name, value, about)->type_name(type);
  };
  text("--api-key-file", args.api_key_file, "FILE",
       "A file with a key on each line: who asks must send one of them");
  text("--tls-cert", args.tls_cert, "FILE",
       "A file with the certificate (PEM), for https; with --tls-key");
  text("--tls-key", args.tls_key, "FILE", "A file with the certificate's private key (PEM)");
  text("--cors", args.cors, "ORIGIN",
       "Let pages of this origin ask, such as https://example.org; '*': of any");
  add_limits(command, args);
  add_compute_options(command, args.session);
  add_environment(command);
}

ServeOptions serve_options(const ServeArgs& args) {
  constexpr int64_t kMib = int64_t{1} << 20;
  const at::Device device = device_argument(args.session.device);
  ServeOptions options{.models = args.models,
                       .queue = args.queue,
                       .body_bytes = args.body_mib * kMib,
                       .pixels = args.pixels,
                       .seconds = args.media_seconds,
                       .latents_bytes = args.latents_mib * kMib,
                       .latents_seconds = 60.0 * args.latents_minutes};
  options.http.host = args.host;
  options.http.port = static_cast<uint16_t>(args.port);
  options.http.limits = {.connections = args.connections,
                         .body_memory = args.memory_mib * kMib,
                         .idle_seconds = args.patience,
                         .body_seconds = args.patience};
  if (!args.api_key_file.empty()) options.http.keys = ApiKeys(read_file(args.api_key_file));
  options.http.certificate = args.tls_cert;
  options.http.private_key = args.tls_key;
  options.http.cors = args.cors;
  options.engine = {.device = device,
                    .dtype = session_dtype(args.session.dtype, device),
                    .kernel = args.session.kernel,
                    .threads = args.session.threads,
                    .most_rows = args.batch};
  return options;
}

}  // namespace perceiver
