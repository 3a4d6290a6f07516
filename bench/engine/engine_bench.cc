// What an operation of the lock table costs, in time and memory, and how that grows with the number
// of live locks. Keys have 16 bytes, owners 10; locks are touched in random order; changes are
// cleared after every operation, as the service does.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "core/containers/key.h"
#include "core/lock_table.h"
#include "measure.h"

namespace holdfast::bench {
namespace {

using namespace core;
using namespace std::chrono_literals;

constexpr std::size_t batch = 1000;
constexpr std::size_t runs = 3;
constexpr std::size_t million = 1'000'000;

// The 16-byte name of lock number `number`.
class Key {
  public:
    explicit Key(std::uint64_t number) {
        std::uint64_t bits = mix(number + 1, 0x9e3779b97f4a7c15);
        for (char& digit : digits_) {
            digit = "0123456789abcdef"[bits % 16];
            bits /= 16;
        }
    }
    [[nodiscard]] std::string_view text() const { return {digits_.data(), digits_.size()}; }

  private:
    std::array<char, 16> digits_{};
};

AcquireRequest ask(const Scope& scope, Duration wait = Duration{0}) {
    return {.scope = scope,
            .owner = {.name = "client-042"},
            .ttl = std::chrono::hours{1},
            .wait = wait,
            .secret = Secret{42}};
}

// What a client shows to renew or release: the lock it means, and its token. Made beforehand, so
// that making names is not measured.
struct NamedProof {
    NamedProof(std::size_t number, const Token& given) : key(number), token(given) {}
    [[nodiscard]] Scope scope() const { return Scope::named(key.text()); }
    Key key;
    Token token;
};
struct RangeProof {
    RangeProof(std::size_t given_number, const Token& given) : number(given_number), token(given) {}
    [[nodiscard]] Scope scope() const {
        return Scope::of_range(7, Range{number * 4096, (number + 1) * 4096});
    }
    std::size_t number;
    Token token;
};

// A table with `count` held locks; Proof says what number i is.
template <class Proof>
class Held {
  public:
    explicit Held(std::size_t count) : tokens_(count) {
        for (std::size_t i = 0; i < count; ++i) acquire(i);
        order_ = shuffled(count);
    }

    void acquire(std::size_t number) {
        const Proof wanted(number, {});
        tokens_[number] = table_.acquire(tick(), ask(wanted.scope())).lease.token;
        table_.clear_changes();
    }
    [[nodiscard]] Proof proof(std::size_t number) const { return Proof(number, tokens_[number]); }
    Time tick() { return now_ += 1us; }

    // Calls work(first, last) with a part of a random order of all locks, again and again, until
    // about `operations` of them have had their turn. Returns how many had.
    template <class Work>
    std::size_t in_random_order(std::size_t operations, const Work& work) {
        std::size_t done = 0;
        while (done < operations) {
            for (std::size_t i = 0; i < order_.size() && done < operations; i += batch) {
                const auto end = std::min(i + batch, order_.size());
                work(order_.begin() + static_cast<std::ptrdiff_t>(i),
                     order_.begin() + static_cast<std::ptrdiff_t>(end));
                done += end - i;
            }
        }
        return done;
    }

    LockTable& table() { return table_; }
    Token& token(std::size_t number) { return tokens_[number]; }
    [[nodiscard]] const std::vector<std::uint32_t>& order() const { return order_; }

  private:
    LockTable table_{TableOptions{.hash_seed = 7}};
    Time now_{};
    std::vector<Token> tokens_;
    std::vector<std::uint32_t> order_;
};

struct PairCost {
    double acquire = 0, release = 0;
};

// Releases a thousand locks, takes them again, and so on.
template <class Table>
PairCost measure_pair(Table& held, std::size_t operations) {
    Stopwatch acquiring, releasing;
    std::vector<decltype(held.proof(0))> asks;
    const std::size_t done = held.in_random_order(operations, [&](auto first, auto last) {
        asks.clear();
        for (auto i = first; i != last; ++i) asks.push_back(held.proof(*i));
        releasing.start();
        for (const auto& proof : asks) {
            held.table().release(held.tick(), {.token = proof.token, .scope = proof.scope()});
            held.table().clear_changes();
        }
        releasing.stop();
        acquiring.start();
        for (auto& proof : asks) {
            proof.token = held.table().acquire(held.tick(), ask(proof.scope())).lease.token;
            held.table().clear_changes();
        }
        acquiring.stop();
        for (auto i = first; i != last; ++i)
            held.token(*i) = asks[static_cast<std::size_t>(i - first)].token;
    });
    return {acquiring.ns_per(done), releasing.ns_per(done)};
}

// The same with a single lock, too little to look at the clock in between.
template <class Table>
double measure_lone_pair(Table& held, std::size_t operations) {
    Stopwatch watch;
    watch.start();
    for (std::size_t i = 0; i < operations; ++i) {
        held.table().release(held.tick(), {.token = held.token(0)});
        held.table().clear_changes();
        held.acquire(0);
    }
    watch.stop();
    return watch.ns_per(operations);
}

// A lock that nobody had is taken and given back at once, again and again, among those that are
// held.
double measure_fresh_pair(Held<NamedProof>& held, std::size_t operations) {
    Stopwatch watch;
    std::vector<Key> keys;
    for (std::size_t i = 0; i < operations; ++i) keys.emplace_back(i + 10 * million);
    watch.start();
    for (const Key& key : keys) {
        const Scope scope = Scope::named(key.text());
        const Token token = held.table().acquire(held.tick(), ask(scope)).lease.token;
        held.table().clear_changes();
        held.table().release(held.tick(), {.token = token, .scope = scope});
        held.table().clear_changes();
    }
    watch.stop();
    return watch.ns_per(operations);
}

template <class Table>
double measure_renew(Table& held, std::size_t operations) {
    Stopwatch renewing;
    std::vector<decltype(held.proof(0))> asks;
    const std::size_t done = held.in_random_order(operations, [&](auto first, auto last) {
        asks.clear();
        // A short list is gone through several times, so that the clock is read seldom.
        while (asks.size() < batch) {
            for (auto i = first; i != last; ++i) asks.push_back(held.proof(*i));
        }
        renewing.start();
        for (const auto& proof : asks) {
            held.table().renew(held.tick(), {.token = proof.token, .scope = proof.scope()});
            held.table().clear_changes();
        }
        renewing.stop();
    });
    return renewing.ns_per(held.order().size() < batch ? done * batch : done);
}

// `count` leases that end one after the other, in another order than they were granted.
double measure_expire(std::size_t count) {
    LockTable table({.hash_seed = 7});
    const auto order = shuffled(count);
    for (std::size_t i = 0; i < count; ++i) {
        const Key key(i);
        AcquireRequest request = ask(Scope::named(key.text()));
        request.ttl = 1s + order[i] * 1us;
        table.acquire(Time{}, request);
        table.clear_changes();
    }
    Stopwatch expiring;
    expiring.start();
    for (std::size_t i = 0; i < count; ++i) {
        table.advance(Time{1s + Duration{i}});
        table.clear_changes();
    }
    expiring.stop();
    return expiring.ns_per(count);
}

// One contended lock with `queue_length` waiters: release, grant to the next, queue up another.
template <class Table>
double measure_hand_off(Table& held, std::size_t queue_length) {
    LockTable& table = held.table();
    const AcquireRequest request = ask(Scope::named("the hot one"), wait_forever);
    Token token = table.acquire(held.tick(), request).lease.token;
    for (std::size_t i = 0; i < queue_length; ++i) table.acquire(held.tick(), request);
    table.clear_changes();
    constexpr std::size_t operations = 200'000;
    Stopwatch watch;
    watch.start();
    for (std::size_t i = 0; i < operations; ++i) {
        table.release(held.tick(), {.token = token});
        token = table.changes()[1].lease.token;
        table.clear_changes();
        table.acquire(held.tick(), request);
        table.clear_changes();
    }
    watch.stop();
    for (std::size_t i = 0; i <= queue_length; ++i) {
        table.force_release(held.tick(), request.scope);
        table.clear_changes();
    }
    return watch.ns_per(operations);
}

using Row = std::vector<double>;

Row measure_named(std::size_t count) {
    Held<NamedProof> held(count);
    const std::size_t operations = std::max<std::size_t>(count, 200'000);
    Row row(3);
    if (count == 1) {
        row[0] = median_of(runs, [&] { return measure_lone_pair(held, operations); });
        row[1] = row[2] = row[0] / 2;
    } else {
        row[0] = median_of(runs, [&] {
            const PairCost cost = measure_pair(held, operations);
            row[1] = cost.acquire;
            row[2] = cost.release;
            return cost.acquire + cost.release;
        });
    }
    row.push_back(median_of(runs, [&] { return measure_fresh_pair(held, 200'000); }));
    row.push_back(median_of(runs, [&] { return measure_renew(held, operations); }));
    row.push_back(median_of(runs, [&] { return measure_expire(std::max(count, batch)); }));
    for (const std::size_t length : {1U, 100U, 10'000U}) {
        row.push_back(median_of(runs, [&] { return measure_hand_off(held, length); }));
    }
    return row;
}

void print_row(std::string_view title, const Row& row, int decimals) {
    fmt::print("| {} |", title);
    for (const double number : row) fmt::print(" {:.{}f} |", number, decimals);
    fmt::print("\n");
    std::fflush(stdout);
}

void print_named() {
    fmt::print(
        "Nanoseconds on named locks. `old`: locks taken long ago, in random order; `fresh`: one "
        "that "
        "nobody had is taken and given back at once. A hand-off is a release, the grant to the "
        "next "
        "waiter and a new waiter.\n\n"
        "| live locks | old: acquire + release | acquire | release | fresh: acquire + release | "
        "renew | expire | hand-off, queue of 1 | of 100 | of 10 000 |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n");
    print_row("1", measure_named(1), 0);
    const Row some = measure_named(10'000);
    print_row("10 000", some, 0);
    const Row many = measure_named(million);
    print_row("1 000 000", many, 0);
    Row ratios;
    for (std::size_t i = 0; i < some.size(); ++i) ratios.push_back(many[i] / some[i]);
    print_row("1 000 000 : 10 000", ratios, 2);
}

void print_ranges() {
    fmt::print(
        "\nNanoseconds per operation on disjoint ranges of one inode.\n\n"
        "| live ranges | acquire + release | acquire | release |\n|---|---|---|---|\n");
    const auto measure = [](std::size_t count) {
        Held<RangeProof> held(count);
        PairCost cost;
        const double pair = median_of(runs, [&] {
            cost = measure_pair(held, std::max<std::size_t>(count, 100'000));
            return cost.acquire + cost.release;
        });
        return Row{pair, cost.acquire, cost.release};
    };
    const Row few = measure(100);
    print_row("100", few, 0);
    print_row("10 000", measure(10'000), 0);
    const Row many = measure(100'000);
    print_row("100 000", many, 0);
    Row ratios;
    for (std::size_t i = 0; i < few.size(); ++i) ratios.push_back(many[i] / few[i]);
    print_row("100 000 : 100", ratios, 2);
}

// Requests for `members` locks each, of a thousand names, by clients of their own. All are made at once,
// and each lease is released when it is granted. Returns the time for one lock of one request.
double measure_sets(std::size_t requests, std::size_t members) {
    constexpr std::size_t names = 1000;
    std::vector<Key> keys;
    for (std::size_t number = 0; number < names; ++number) keys.emplace_back(number);
    std::vector<Key> owners;
    std::vector<SetMember> wanted(requests * members);
    std::uint64_t draw = 1;
    for (std::size_t request = 0; request < requests; ++request) {
        owners.emplace_back(names + request);
        for (std::size_t index = 0; index < members; ++index) {
            // A number of its own for each member of a set.
            draw = mix(draw + 1, 0x9e3779b97f4a7c15);
            const std::size_t number = draw % (names / members) * members + index;
            wanted[request * members + index].scope = Scope::named(keys[number].text());
        }
    }
    LockTable table({.hash_seed = 7});
    std::vector<Token> granted;
    Time now{};
    const auto collect = [&] {
        for (const Event& event : table.changes()) {
            if (event.kind == EventKind::granted) granted.push_back(event.lease.token);
        }
        table.clear_changes();
    };
    Stopwatch watch;
    watch.start();
    for (std::size_t request = 0; request < requests; ++request) {
        AcquireRequest asked = ask(wanted[request * members].scope, wait_forever);
        asked.owner.name = owners[request].text();
        if (members > 1) asked.members = {&wanted[request * members], members};
        table.acquire(now += 1us, asked);
        collect();
    }
    for (std::size_t index = 0; index < granted.size(); ++index) {
        table.release(now += 1us, {.token = granted[index]});
        collect();
    }
    watch.stop();
    return watch.ns_per(requests * members);
}

void print_sets() {
    constexpr std::size_t sets = 100'000;
    fmt::print(
        "\nNanoseconds for each lock, from the request to the release, of {} requests at once for "
        "several of a thousand names; and of as many requests for one of them.\n\n"
        "| locks in a request | a set | one by one | ratio |\n|---|---|---|---|\n",
        sets);
    for (const std::size_t members : {2U, 4U, 16U}) {
        const double set = median_of(runs, [&] { return measure_sets(sets, members); });
        const double single = median_of(runs, [&] { return measure_sets(sets, 1); });
        print_row(std::to_string(members), {set, single, set / single}, 2);
    }
}

double per_million(std::size_t before, std::size_t after) {
    return (static_cast<double>(after) - static_cast<double>(before)) /
           static_cast<double>(million);
}

void print_memory() {
    // The tokens are the clients' affair: they are allocated before anything is measured.
    std::vector<Token> tokens(million);
    const auto order = shuffled(million);
    const auto allocated_before = allocated_bytes(), resident_before = resident_bytes();
    LockTable table({.hash_seed = 7});
    Time now{};
    for (std::size_t i = 0; i < million; ++i) {
        const Key key(i);
        tokens[i] = table.acquire(now += 1us, ask(Scope::named(key.text()))).lease.token;
        table.clear_changes();
    }
    const auto allocated_peak = allocated_bytes(), resident_peak = resident_bytes();
    for (const std::uint32_t number : order) {
        table.release(now += 1us, {.token = tokens[number]});
        table.clear_changes();
    }
    const auto allocated_after = allocated_bytes(), resident_after = resident_bytes();

    // A million waiters on a hundred locks.
    for (std::size_t i = 0; i < million + 100; ++i) {
        const Key key(i % 100);
        table.acquire(now += 1us, ask(Scope::named(key.text()), wait_forever));
        table.clear_changes();
    }
    fmt::print(
        "\nMemory.\n\n| | allocated | resident |\n|---|---|---|\n"
        "| bytes per held lock | {:.0f} | {:.0f} |\n| bytes per waiter | {:.0f} | {:.0f} |\n",
        per_million(allocated_before, allocated_peak), per_million(resident_before, resident_peak),
        per_million(allocated_after, allocated_bytes()),
        per_million(resident_after, resident_bytes()));
    fmt::print(
        "\nA million locks acquired, then released in random order: bytes in use.\n\n"
        "| | before | at the peak | after |\n|---|---|---|---|\n"
        "| allocated | {} | {} | {} |\n| resident | {} | {} | {} |\n",
        allocated_before, allocated_peak, allocated_after, resident_before, resident_peak,
        resident_after);
}

}  // namespace
}  // namespace holdfast::bench

int main() {
    fmt::print(
        "Processor time. A dependent read from a random place in 300 MB takes {:.0f} ns here.\n",
        holdfast::bench::ns_per_random_read(300'000'000));
    holdfast::bench::print_memory();  // first: later on the heap is no longer fresh
    fmt::print("\n");
    holdfast::bench::print_named();
    holdfast::bench::print_ranges();
    holdfast::bench::print_sets();
}
