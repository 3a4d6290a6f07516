#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace holdfast::files {

// Md5: the MD5 of bytes that come in pieces. It tells whether bytes were damaged on their way; it is
// no protection against people.
class Md5 {
  public:
    Md5();
    void update(std::string_view bytes);
    // The 16 bytes of the hash; nothing if the cryptography of this machine is set up without MD5.
    // REQUIRES: called once, as the last call.
    [[nodiscard]] std::optional<std::string> finish();

  private:
    struct Closer {
        void operator()(evp_md_ctx_st* context) const;
    };
    std::unique_ptr<evp_md_ctx_st, Closer> context_;  // null: there is no MD5
};

}  // namespace holdfast::files
