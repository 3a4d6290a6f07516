#include "etcd/wire/protobuf.h"

namespace holdfast::etcd {

namespace {

enum WireType : std::uint32_t {
    varint_type = 0,
    fixed64_type = 1,
    bytes_type = 2,
    fixed32_type = 5
};

constexpr std::uint64_t continues = 0x80;
constexpr std::uint64_t field_number_max = (1U << 29U) - 1;

}  // namespace

void FieldWriter::number(std::uint32_t field, std::int64_t value) {
    if (value != 0) chosen_number(field, value);
}

void FieldWriter::bytes(std::uint32_t field, std::string_view value) {
    if (!value.empty()) chosen_bytes(field, value);
}

// A negative number has all its 64 bits, which are ten bytes.
void FieldWriter::chosen_number(std::uint32_t field, std::int64_t value) {
    key(field, varint_type);
    varint(static_cast<std::uint64_t>(value));
}

void FieldWriter::chosen_bytes(std::uint32_t field, std::string_view value) {
    key(field, bytes_type);
    varint(value.size());
    output_ += value;
}

void FieldWriter::key(std::uint32_t field, std::uint32_t wire_type) {
    varint((field << 3U) | wire_type);
}

void FieldWriter::varint(std::uint64_t value) {
    while (value >= continues) {
        output_ += static_cast<char>(value | continues);
        value >>= 7U;
    }
    output_ += static_cast<char>(value);
}

// The length stands before the message, but is known only behind it.
void FieldWriter::insert_length(std::size_t begin) {
    std::string length;
    FieldWriter(length).varint(output_.size() - begin);
    output_.insert(begin, length);
}

bool FieldReader::next() {
    if (rest_.empty() || !is_well_formed_) return false;
    std::uint64_t key = 0;
    const bool has_key = read_varint(key) && (key >> 3U) >= 1 && (key >> 3U) <= field_number_max;
    field_ = static_cast<std::uint32_t>(key >> 3U);
    is_well_formed_ = has_key && read_value(static_cast<std::uint32_t>(key & 7U));
    return is_well_formed_;
}

bool FieldReader::read_value(std::uint32_t wire_type) {
    number_ = 0;
    bytes_ = {};
    is_bytes_ = wire_type == bytes_type;
    std::uint64_t count = 0;
    switch (wire_type) {
        case varint_type: return read_varint(number_);
        case fixed64_type: return read_bytes(8) && (bytes_ = {}, true);
        case fixed32_type: return read_bytes(4) && (bytes_ = {}, true);
        case bytes_type: return read_varint(count) && read_bytes(count);
        default: return false;  // groups are older than etcd
    }
}

bool FieldReader::read_varint(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
        const auto byte = static_cast<unsigned char>(rest_.front());
        rest_.remove_prefix(1);
        value |= std::uint64_t{byte & 0x7FU} << shift;
        if (byte < continues) return true;
    }
    return false;
}

bool FieldReader::read_bytes(std::uint64_t count) {
    if (count > rest_.size()) return false;
    bytes_ = rest_.substr(0, static_cast<std::size_t>(count));
    rest_.remove_prefix(static_cast<std::size_t>(count));
    return true;
}

}  // namespace holdfast::etcd
