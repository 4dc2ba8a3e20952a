#include "perceiver/serve/metrics.h"

#include <gtest/gtest.h>

namespace perceiver {
namespace {

TEST(ServerMetrics, AreInPrometheusFormat) {
  ServerMetrics metrics;
  metrics.answered("/fill", 200, 0.004);
  metrics.answered("/fill", 200, 0.3);
  metrics.answered("", 404, 0.0001);
  metrics.computed(4, 0.2);
  const std::string text = metrics.text({.connections = 7, .latent_bytes = 1000});
  for (const char* line :
       {"# TYPE perceiver_requests_total counter\n",
        "perceiver_requests_total{route=\"/fill\",code=\"200\"} 2\n",
        "perceiver_requests_total{route=\"\",code=\"404\"} 1\n",
        "perceiver_answer_seconds_bucket{le=\"0.005\"} 2\n",
        "perceiver_answer_seconds_bucket{le=\"+Inf\"} 3\n", "perceiver_answer_seconds_count 3\n",
        "perceiver_batch_size_bucket{le=\"2\"} 0\n", "perceiver_batch_size_bucket{le=\"4\"} 1\n",
        "perceiver_model_seconds_sum 0.2\n", "perceiver_connections 7\n",
        "perceiver_latents_bytes 1000\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  EXPECT_DOUBLE_EQ(metrics.mean_model_seconds(), 0.05);
}

}  // namespace
}  // namespace perceiver
