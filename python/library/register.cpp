// The classes of torch.classes.perceiver. Python reaches them through torch alone: there is no code
// for a version of Python here, and torch lets go of the interpreter's lock while they work.
#include <torch/custom_class.h>

#include "perceiver/perceiver.h"
#include "python/library/borrowed_model.h"
#include "python/library/loaded_model.h"
#include "python/library/plain_errors.h"

namespace perceiver {
namespace {

using Strings = std::vector<std::string>;

c10::intrusive_ptr<PythonQuestion> question(Strings pixels, const std::string& box,
                                            const std::string& frames, const std::string& seconds,
                                            const std::string& words, Strings tasks, bool label,
                                            int64_t top) {
  auto asked = c10::make_intrusive<PythonQuestion>();
  asked->pixels = std::move(pixels), asked->tasks = std::move(tasks);
  asked->box = box, asked->frames = frames, asked->seconds = seconds, asked->words = words;
  asked->label = label, asked->top = top;
  return asked;
}

}  // namespace

TORCH_LIBRARY(perceiver, m) {
  m.class_<PythonQuestion>("Question").def(torch::init(question));
  m.class_<PythonLatents>("Latents")
      .def(torch::init<const std::string&>())
      .def("arrays", &PythonLatents::arrays)
      .def("facts", &PythonLatents::facts)
      .def("save", [](const c10::intrusive_ptr<PythonLatents>& self, const std::string& path) {
        plainly([&] { write_latents(path, self->file); });
      });
  m.class_<PythonModel>("Model")
      .def(torch::init<const std::string&, const std::string&>())
      .def("facts", &PythonModel::facts)
      .def("to", &PythonModel::to)
      .def("fill", &PythonModel::fill)
      .def("classify", &PythonModel::classify)
      .def("answer_tasks", &PythonModel::answer_tasks)
      .def("flow", &PythonModel::flow)
      .def("encode", &PythonModel::encode)
      .def("encode_clip", &PythonModel::encode_clip)
      .def("query", &PythonModel::query)
      .def("attend", &PythonModel::attend)
      .def("autoencode", &PythonModel::autoencode)
      .def("autoencode_file", &PythonModel::autoencode_file)
      .def("run", &PythonModel::run)
      .def("run_file", &PythonModel::run_file);
  m.class_<BorrowedModel>("BorrowedModel")
      .def(torch::init<const std::string&, const TensorDict&>())
      .def("run", &BorrowedModel::run);
}

}  // namespace perceiver
