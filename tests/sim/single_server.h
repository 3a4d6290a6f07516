#pragma once

// SingleServer: one server on one machine, with its locks on a disk, or in memory only.

#include "sim/checker/checker.h"
#include "sim/disk.h"
#include "sim/machine.h"
#include "sim/server.h"
#include "sim/system.h"

namespace holdfast::sim {

class SingleServer final : public System {
  public:
    explicit SingleServer(Surroundings around);

    void start() override { server_.start(); }
    void receive(const Call& call) override { server_.receive(call); }
    void hang_up(ConnectionId connection) override { server_.hang_up(connection); }
    void arrange_faults(const Every& every) override;
    void heal() override;
    void look() override;
    void check_empty() override;
    [[nodiscard]] core::Duration recovery_time_max() const override { return {}; }

  private:
    [[nodiscard]] std::unique_ptr<service::Store> make_store(const StoreHooks& hooks);
    void trouble_disk();
    // Until then the store is sure that it has the disk. A new process is always sure.
    void set_authority_deadline(Moment deadline);

    const Surroundings around_;
    Machine machine_;
    Disk disk_;
    Checker checker_;
    Server server_;
    DiskStore* disk_store_ = nullptr;  // of the running server, unless that is volatile
};

}  // namespace holdfast::sim
