#pragma once

// Protobuf: the two directions of etcd's encoding, field by field.
//
// A message is a sequence of fields. A field is a key (its number and how its value is stored) and a
// value: a varint, 8 bytes, 4 bytes, or a length and that many bytes. Fields with their default value
// are omitted. A reader skips the fields that it does not know.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::etcd {

// Appends fields to a message.
class FieldWriter {
  public:
    explicit FieldWriter(std::string& output) : output_(output) {}

    // Omitted if the value is the default.
    void number(std::uint32_t field, std::int64_t value);
    void bytes(std::uint32_t field, std::string_view value);
    // Written even if the value is the default: a member of a `oneof` must show which one it is.
    void chosen_number(std::uint32_t field, std::int64_t value);
    void chosen_bytes(std::uint32_t field, std::string_view value);

    // A message inside this one: `write` appends its fields to the same output.
    template <class Write>
    void message(std::uint32_t field, Write write) {
        key(field, 2);
        const std::size_t begin = output_.size();
        write(*this);
        insert_length(begin);
    }

  private:
    void key(std::uint32_t field, std::uint32_t wire_type);
    void varint(std::uint64_t value);
    void insert_length(std::size_t begin);

    std::string& output_;
};

// Goes through the fields of a message. Bytes of any kind are borne:
//
//     FieldReader reader(bytes);
//     while (reader.next()) {
//         if (reader.field() == 2) answer.version = reader.bytes();
//     }
//     if (!reader.is_well_formed()) ...
class FieldReader {
  public:
    explicit FieldReader(std::string_view message) : rest_(message) {}

    // Goes on to the next field. False at the end, and where the message is malformed.
    [[nodiscard]] bool next();
    [[nodiscard]] bool is_well_formed() const { return is_well_formed_; }

    [[nodiscard]] std::uint32_t field() const { return field_; }
    // The value of the field; 0 or empty if it is of another kind.
    [[nodiscard]] std::uint64_t number() const { return number_; }
    [[nodiscard]] std::int64_t signed_number() const { return static_cast<std::int64_t>(number_); }
    [[nodiscard]] std::string_view bytes() const { return bytes_; }
    [[nodiscard]] bool is_bytes() const { return is_bytes_; }

  private:
    bool read_varint(std::uint64_t& value);
    bool read_bytes(std::uint64_t count);
    bool read_value(std::uint32_t wire_type);

    std::string_view rest_;
    std::uint32_t field_ = 0;
    std::uint64_t number_ = 0;
    std::string_view bytes_;
    bool is_bytes_ = false;
    bool is_well_formed_ = true;
};

}  // namespace holdfast::etcd
