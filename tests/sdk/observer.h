#pragma once

// Observer: remembers what it was told of an election, on a thread of its own.

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "holdfast/client.h"
#include "test_server.h"

namespace holdfast::sdk::testing {

// `nobody`, or `ann@10.0.0.1` if she has a value.
using Told = std::vector<std::string>;

class Observer {
  public:
    Observer(Client client, const std::string& election)
        : client_(std::move(client)), thread_([this, election](const std::stop_token& stop) {
              const auto done = client_.observe(
                  election, [this](const std::optional<Leader>& leader) { note(leader); }, stop);
              EXPECT_TRUE(done) << to_note(done);
          }) {}

    [[nodiscard]] Told told() const {
        const std::lock_guard guard(mutex_);
        return told_;
    }
    // The leader of whom it was told last, if there was one since.
    [[nodiscard]] std::optional<Leader> leader() const {
        const std::lock_guard guard(mutex_);
        return leader_;
    }

  private:
    void note(const std::optional<Leader>& leader) {
        const std::lock_guard guard(mutex_);
        told_.push_back(leader ? leader->candidate + "@" + leader->value : "nobody");
        leader_ = leader;
    }

    mutable std::mutex mutex_;
    Told told_;                     // under mutex_
    std::optional<Leader> leader_;  // under mutex_
    Client client_;
    std::jthread thread_;
};

}  // namespace holdfast::sdk::testing
