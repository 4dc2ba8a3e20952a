// One function a verb, each in a file of its own: arguments, the work, how they are named.
#pragma once

#include <optional>
#include <string>

#include "perceiver/zoo/model.h"

namespace CLI {
class App;
}

namespace perceiver {

void add_attend_command(CLI::App& app);
void add_autoencode_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_classify_command(CLI::App& app);
void add_completion_command(CLI::App& app);
void add_convert_command(CLI::App& app);
void add_data_command(CLI::App& app);
void add_demo_command(CLI::App& app);
void add_doctor_command(CLI::App& app);
void add_encode_command(CLI::App& app);
void add_data_flow_command(CLI::App& data);  // "data flow"
void add_eval_command(CLI::App& app);
void add_fill_command(CLI::App& app);
void add_flow_command(CLI::App& app);
void add_inspect_command(CLI::App& app);
void add_models_command(CLI::App& app);
void add_paper_command(CLI::App& app);
void add_query_command(CLI::App& app);
void add_run_command(CLI::App& app);
void add_serve_command(CLI::App& app);  // where the build has what it takes
void add_sweep_command(CLI::App& app);
void add_train_command(CLI::App& app);
void add_version_command(CLI::App& app);

// A subcommand whose help starts with examples.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& description,
                      const std::string& examples);

// What several verbs ask for, and what is made of the answers.
void add_semantics_option(CLI::App& command, std::string& value);
void add_dtype_option(CLI::App& command, std::string& value, const std::string& description);
void add_device_option(CLI::App& command, std::string& value);
void add_threads_option(CLI::App& command, int64_t& value);
void add_quiet_option(CLI::App& command, bool& value);
std::optional<Reference> semantics_argument(const std::string& value);
at::ScalarType dtype_argument(const std::string& value);

// Fails where the output is one of the inputs, or of the files that the model was read from.
void check_not_read(const std::string& output, std::vector<std::string> inputs, const Model& model);

// "data.train=[…]" of a config that names these files and folders.
std::string paths_override(const std::string& key, const std::vector<std::string>& paths);

// The line that says which model a verb works with.
std::string describe(const Model& model, const std::string& device, const std::string& dtype);

}  // namespace perceiver
