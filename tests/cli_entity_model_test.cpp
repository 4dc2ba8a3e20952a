// The shipped model of entities, asked through a shell as a user would.
#include <nlohmann/json.hpp>

#include "perceiver/core/error.h"
#include "tests/program.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class ShippedEntityModel : public testing::Test {
 protected:
  void SetUp() override {
    try {
      shipped("models/entity-mini");
    } catch (const Error&) {
      GTEST_SKIP() << "there is no models/entity-mini";
    }
  }
};

TEST_F(ShippedEntityModel, NamesWhatIsManyInTheSample) {
  const fs::path sample = shipped("samples/entities.jsonl");
  const Result result = run("classify -q --json " + sample.string());
  ASSERT_EQ(result.code, 0) << result.err;
  const Json named = Json::parse(result.out)[0]["entities"];
  const Json answers = Json::parse(read_file(sample).bytes)["answers"];
  ASSERT_EQ(named.size(), answers.size());
  int right = 0;
  for (size_t i = 0; i < named.size(); ++i) right += named[i]["top"][0]["name"] == answers[i];
  EXPECT_EQ(right, 6) << "of " << answers.size() << ", as the card says";
}

TEST_F(ShippedEntityModel, RepeatsTheFiguresOfItsCard) {
  const char* data = std::getenv("PERCEIVER_DATA");
  if (data == nullptr) GTEST_SKIP() << "PERCEIVER_DATA names no folder of data";
  const fs::path states = fs::path(data) / "starcraft" / "entity_snapshots.jsonl.gz";
  if (!fs::exists(states)) GTEST_SKIP() << states << " is not there";
  const Result result = run("eval -q --json entity-mini 'data.train=[\"" + states.string() +
                            "\"]' 'data.leave_out=[\"Beacon*\"]'");
  ASSERT_EQ(result.code, 0) << result.err;
  const Json measured = Json::parse(result.out);
  EXPECT_EQ(measured["examples"], 233);
  EXPECT_NEAR(measured["type_accuracy"].get<double>(), 0.443, 0.01);
  EXPECT_NEAR(measured["most_frequent_type"].get<double>(), 0.192, 0.01);
}

}  // namespace
}  // namespace perceiver
