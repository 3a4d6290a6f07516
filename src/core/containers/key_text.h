#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace holdfast::core {

// KeyText: the name of a resource. Short ones, which most are, live in the record itself.
class KeyText {
  public:
    KeyText() = default;
    explicit KeyText(std::string_view text) : size_(static_cast<std::uint32_t>(text.size())) {
        char* bytes = inside_;
        if (is_outside()) {
            bytes = new char[text.size()];
            std::memcpy(inside_, &bytes, sizeof bytes);
        }
        std::memcpy(bytes, text.data(), text.size());
    }
    KeyText(const KeyText&) = delete;
    KeyText& operator=(const KeyText&) = delete;
    ~KeyText() {
        if (is_outside()) delete[] outside();
    }

    [[nodiscard]] std::string_view view() const {
        return {is_outside() ? outside() : inside_, size_};
    }

  private:
    static constexpr std::uint32_t inside_max = 24;

    [[nodiscard]] bool is_outside() const { return size_ > inside_max; }
    [[nodiscard]] char* outside() const {
        char* bytes = nullptr;
        std::memcpy(&bytes, inside_, sizeof bytes);
        return bytes;
    }

    std::uint32_t size_ = 0;
    char inside_[inside_max];  // the bytes, or a pointer to them
};

}  // namespace holdfast::core
