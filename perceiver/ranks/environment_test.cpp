#include "perceiver/ranks/environment.h"

#include <gtest/gtest.h>

#include <map>

#include "perceiver/core/error_test.h"

namespace perceiver {
namespace {

using Environment = std::map<std::string, std::string>;

std::optional<Place> place_in(const Environment& environment) {
  return place_in_environment([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

std::string error_in(const Environment& environment) {
  return error_of([&] { place_in(environment); });
}

TEST(PlaceInEnvironment, IsNoneOfAProgramThatWasStartedAlone) {
  EXPECT_FALSE(place_in({}));
  EXPECT_FALSE(place_in({{"MASTER_ADDR", "a"}, {"LOCAL_RANK", "0"}}));
  // The script of a Slurm job, and a shell in it, have these without being a rank.
  EXPECT_FALSE(place_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "7"}}));
  EXPECT_FALSE(place_in({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}));
}

TEST(PlaceInEnvironment, ReadsTorchrun) {
  Environment two = {{"RANK", "5"},
                     {"WORLD_SIZE", "8"},
                     {"LOCAL_RANK", "1"},
                     {"LOCAL_WORLD_SIZE", "4"},
                     {"MASTER_ADDR", "node0"},
                     {"MASTER_PORT", "1234"},
                     {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                     {"TORCHELASTIC_RESTART_COUNT", "2"},
                     {"OMPI_COMM_WORLD_SIZE", "2"}};  // torchrun itself was started by mpirun
  const Place place = *place_in(two);
  EXPECT_EQ(place.rank, 5);
  EXPECT_EQ(place.size, 8);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.local_size, 4);
  EXPECT_EQ(place.address, "node0");
  EXPECT_EQ(place.port, 1234);
  EXPECT_EQ(place.attempt, "2");
  EXPECT_FALSE(place.hosts_store);
  two["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  EXPECT_TRUE(place_in(two)->hosts_store);
  EXPECT_TRUE(place_in({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));  // one rank that was asked for
}

TEST(PlaceInEnvironment, ReadsMpirun) {
  const Place open = *place_in({{"OMPI_COMM_WORLD_RANK", "3"},
                                {"OMPI_COMM_WORLD_SIZE", "4"},
                                {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                {"MASTER_ADDR", "node0"}});
  EXPECT_EQ(open.rank, 3);
  EXPECT_EQ(open.local_rank, 1);
  EXPECT_EQ(open.local_size, 2);
  EXPECT_EQ(open.address, "node0");
  EXPECT_TRUE(open.hosts_store);
  const Place mpich = *place_in(
      {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}});
  EXPECT_EQ(mpich.rank, 1);
  EXPECT_EQ(mpich.address, "127.0.0.1");
  EXPECT_EQ(mpich.launcher, "mpirun");
}

TEST(PlaceInEnvironment, ReadsSrun) {
  const Place place = *place_in({{"SLURM_PROCID", "5"},
                                 {"SLURM_STEP_NUM_TASKS", "8"},
                                 {"SLURM_LOCALID", "1"},
                                 {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"},
                                 {"SLURM_STEP_NODELIST", "gpu[07-08]"},
                                 {"SLURM_JOB_ID", "1234567"}});
  EXPECT_EQ(place.rank, 5);
  EXPECT_EQ(place.size, 8);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.local_size, 4);
  EXPECT_EQ(place.address, "gpu07");
  EXPECT_EQ(place.port, 15000 + 4567);
}

TEST(FirstHost, IsThatOfSlurmsList) {
  EXPECT_EQ(first_host("a"), "a");
  EXPECT_EQ(first_host("a,b[1-2]"), "a");
  EXPECT_EQ(first_host("a[5-9,12]"), "a5");
  EXPECT_EQ(first_host("gpu[007],x"), "gpu007");
  EXPECT_EQ(first_host("rack[3-4]-ib,x"), "rack3-ib");
  EXPECT_EQ(error_of([] { first_host("a["); }),
            "environment: a list of machines must have a ']', got 'a['");
}

TEST(PlaceInEnvironment, WhatContradictsItselfIsAnError) {
  EXPECT_EQ(error_in({{"WORLD_SIZE", "2"}}),
            "environment: WORLD_SIZE is 2 and RANK is not set; expected both, as torchrun sets "
            "them, or none");
  EXPECT_EQ(error_in({{"RANK", "1"}}),
            "environment: RANK is 1 and WORLD_SIZE is not set; expected both, as torchrun sets "
            "them, or none");
  EXPECT_EQ(error_in({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
            "environment: RANK must be a whole number from 0 to 1, got '2'");
  EXPECT_EQ(error_in({{"RANK", "0"}, {"WORLD_SIZE", "two"}}),
            "environment: WORLD_SIZE must be a whole number from 1 to 1048576, got 'two'");
  EXPECT_EQ(error_in({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}),
            "environment: WORLD_SIZE is 2 and MASTER_PORT is not set; expected where rank 0 is "
            "reached");
  EXPECT_EQ(
      error_in({{"OMPI_COMM_WORLD_RANK", "3"},
                {"OMPI_COMM_WORLD_SIZE", "4"},
                {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}),
      "environment: mpirun has started 4 ranks, 2 of them on this machine, and MASTER_ADDR is not "
      "set; name the machine of rank 0, as with 'mpirun -x MASTER_ADDR=HOST …' (Open MPI) or "
      "'mpirun -genv MASTER_ADDR HOST …' (MPICH)");
}

}  // namespace
}  // namespace perceiver
