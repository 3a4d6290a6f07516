#include "net/syntax/known_fields.h"

namespace holdfast::net {

const HeaderFields* KnownFields::find_in(std::string_view text) const {
    if (!known_ || text.size() < known_->text.size()) return nullptr;
    unsigned char difference = 0;
    for (std::size_t at = 0; at < known_->text.size(); ++at) {
        difference |= static_cast<unsigned char>(text[at] ^ known_->text[at]);
    }
    return difference == 0 ? &known_->fields : nullptr;
}

void KnownFields::note(std::string_view text, const HeaderFields& fields) {
    if (text.size() > text_bytes_max || --until_remembered_ > 0) return;
    until_remembered_ = replaced_after;
    if (!known_) known_ = std::make_unique<Known>();
    known_->text = text;
    known_->fields = fields;
}

}  // namespace holdfast::net
