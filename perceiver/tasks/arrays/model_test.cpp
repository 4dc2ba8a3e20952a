#include "perceiver/tasks/arrays/model.h"

#include "perceiver/kernels/run.h"
#include "perceiver/model/flops.h"
#include "perceiver/tasks/arrays/examples.h"
#include "perceiver/tasks/arrays/files_test.h"
#include "perceiver/tasks/settings.h"
#include "perceiver/tasks/task.h"
#include "perceiver/tasks/training.h"

namespace perceiver {
namespace {

class ArraysTaskTest : public ArrayFiles {
 protected:
  // One input of each kind, one query of each kind.
  std::unique_ptr<Task> all_kinds() const {
    const NamedTensors arrays = {
        {"x", at::rand({10, 4, 6, 2})}, {"kind", at::randint(5, {10, 7}, at::kLong)},
        {"row", at::rand({10, 3})},     {"places", at::rand({10, 9, 3})},
        {"value", at::rand({10, 9})},   {"y", at::randint(3, {10}, at::kLong)}};
    return make_task(arrays_config(
        "[inputs.x]\npatch = [2, 2]\nhide = 0.5\nsample = 4\n"
        "[inputs.kind]\nhas_channels = false\n"
        "fields = [{category = ':'}, {position = 'learned'}]\n"
        "[inputs.row]\nelement = 'column'\n"
        "[queries.where]\nat = 'places'\ntarget = 'value'\nloss = 'gaussian'\nsample = 5\n"
        "[queries.x]\nlike = 'x'\nfields = [{position = 'fourier', bands = 3}]\n"
        "[queries.y]\nloss = 'cross_entropy'\n",
        write("all.npz", arrays)));
  }
};

TEST_F(ArraysTaskTest, ASummaryCountsWhatAForwardPassDoes) {
  const std::unique_ptr<Task> task = all_kinds();
  const ModelSummary summary = task->summary(Split::kEval);
  EXPECT_EQ(summary.inputs.index, 6 + 7 + 3);
  EXPECT_EQ(summary.queries->index, 9 + 6 + 1);
  EXPECT_EQ(summary.parameters(), num_parameters(task->model()));
  const Tensor outputs = task->forward_random(2, Split::kEval);
  // A mean and a deviation at nine places, six patches of 2 x 2 x 2, and three classes.
  EXPECT_EQ(outputs.sizes().vec(), (std::vector<int64_t>{2, 9 * 2 + 6 * 8 + 3}));
  const RunScope reference([](perceiver::Run& run) { run.kernel = "reference"; });
  const Example inputs = task->random_inputs(1);
  const at::NoGradGuard no_grad;
  task->model().eval();
  EXPECT_EQ(recorded_flops([&] { task->forward(inputs, Split::kEval); }), summary.flops());
  EXPECT_LT(task->summary(Split::kTrain).inputs.index, summary.inputs.index);
}

TEST_F(ArraysTaskTest, EveryParameterLearns) {
  const std::unique_ptr<Task> task = all_kinds();
  task->model().train();
  task->training()->loss(task->training()->random_batch(4)).sum.backward();
  for (const auto& item : task->model().named_parameters()) {
    ASSERT_TRUE(item.value().grad().defined()) << item.key();
    EXPECT_FALSE(item.value().grad().isnan().any().item<bool>()) << item.key();
  }
}

// What an element hides no output may know of.
TEST_F(ArraysTaskTest, HiddenElementsChangeNothing) {
  const std::unique_ptr<Task> task = all_kinds();
  task->model().eval();
  const at::NoGradGuard no_grad;
  Example inputs = task->random_inputs(1);
  inputs.at("inputs.x.mask")[0][2] = false;
  const Tensor before = task->forward(inputs, Split::kEval);
  inputs.at("inputs.x.0")[0][2] += 5.0;
  EXPECT_TRUE(task->forward(inputs, Split::kEval).equal(before));
  inputs.at("inputs.x.0")[0][3] += 5.0;
  EXPECT_FALSE(task->forward(inputs, Split::kEval).equal(before));
}

}  // namespace
}  // namespace perceiver
