// journal_fuzzer: any bytes where a journal should be.
//
// The first byte says what the rest is:
//
//   an entry         if it can be read, it would be written as the same bytes
//   a file           what is found in it are parts of it
//   the entries of   a file is made of them, each with the size that its first byte says. All are found
//   a file           in it. Then one byte is changed, at the place that the next two bytes say: the file
//                    is refused, or lacks its last record at most.
//
// Under AddressSanitizer and UndefinedBehaviorSanitizer.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "store/journal/journal_entry.h"
#include "store/journal/journal_file.h"
#include "store/journal/unfolded.h"

namespace holdfast::store {
namespace {

void check_entry(std::string_view bytes) {
    const auto entry = read_entry(bytes);
    if (!entry) return;
    std::string memory;
    CHECK(write_entry(*entry, memory) == bytes);
    Unfolded unfolded;
    unfolded.add(*entry);
    unfolded.add(*entry);
    CHECK(unfolded.size() <= entry->puts.size() + 2 * entry->ends.size() + entry->marks.size());
}

void check_file(std::string_view bytes) {
    JournalName name;
    if (bytes.size() >= sizeof name) std::memcpy(&name, bytes.data(), sizeof name);
    for (const auto use : {JournalUse::mine, JournalUse::of_running_server}) {
        const auto entries = find_entries(bytes, name, use);
        if (!entries) continue;
        for (const std::string_view entry : *entries) {
            CHECK(entry.data() >= bytes.data());
            CHECK(entry.data() + entry.size() <= bytes.data() + bytes.size());
            check_entry(entry);
        }
    }
}

void check_built_file(std::string_view input) {
    if (input.size() < 2) return;
    constexpr JournalName name{.database = 1, .generation = 2};
    const auto place = static_cast<std::size_t>(static_cast<unsigned char>(input[0])) << 8U |
                       static_cast<unsigned char>(input[1]);
    input.remove_prefix(2);
    std::string bytes;
    std::vector<std::string_view> entries;
    while (!input.empty()) {
        const auto entry = input.substr(1, static_cast<unsigned char>(input[0]));
        input.remove_prefix(1 + entry.size());
        const std::size_t at = bytes.size();
        bytes.resize(at + record_bytes(entry.size()));
        write_record(name, entries.size(), entry, bytes.data() + at);
        entries.push_back(entry);
    }
    CHECK(find_entries(bytes, name).value() == entries);
    if (place >= bytes.size()) return;
    bytes[place] = static_cast<char>(bytes[place] ^ 0x20);
    const auto found = find_entries(bytes, name);
    if (!found || *found == entries) return;
    entries.pop_back();
    CHECK(*found == entries);
}

}  // namespace
}  // namespace holdfast::store

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace holdfast::store;
    if (size == 0) return 0;
    const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
    switch (data[0] % 3) {
        case 0: check_entry(input); break;
        case 1: check_file(input); break;
        default: check_built_file(input); break;
    }
    return 0;
}
