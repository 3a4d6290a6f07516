#include "relay/splice.h"

#include <utility>

namespace holdfast::relay {

class Splice::RawSide final : public net::Protocol {
  public:
    RawSide(std::shared_ptr<Splice> splice, std::optional<net::Arrival> seat)
        : splice_(std::move(splice)), seat_(std::move(seat)) {}

    std::size_t on_input(std::string_view input) override { return splice_->on_raw_input(input); }
    void on_end_of_data() override { splice_->on_raw_end_of_data(); }
    bool on_output_sent() override { return splice_->on_raw_output_sent(), false; }
    void on_read_timeout() override {}
    void on_closed() override { splice_->on_raw_closed(); }
    bool idle() const override { return splice_->is_raw_idle(); }
    bool wants_all_input() const override { return true; }

  private:
    std::shared_ptr<Splice> splice_;
    std::optional<net::Arrival> seat_;
};

std::unique_ptr<net::Protocol> Splice::make_raw_side(std::shared_ptr<Splice> splice,
                                                     net::Channel& raw,
                                                     std::optional<net::Arrival> seat) {
    splice->raw_ = &raw;
    return std::make_unique<RawSide>(std::move(splice), std::move(seat));
}

std::size_t Splice::on_raw_input(std::string_view input) {
    if (is_over_ || !framed_) return input.size();
    if (framed_->congested()) {
        is_raw_paused_ = true;
        raw_->pause();
        return 0;
    }
    traffic_.to_framed.fetch_add(input.size(), std::memory_order_relaxed);
    append_data(framed_->output(), input);
    framed_->flush();
    return input.size();
}

void Splice::on_raw_end_of_data() {
    has_raw_ended_ = true;
    if (is_over_ || !framed_) return;
    append_end(framed_->output());
    framed_->flush();
}

void Splice::on_raw_output_sent() {
    if (std::exchange(is_framed_paused_, false) && framed_) framed_->resume();
}

void Splice::on_raw_closed() {
    raw_ = nullptr;
    if (std::exchange(is_over_, true) || !framed_) return;
    append_gone(framed_->output());
    framed_->close_after_flush();
}

std::size_t Splice::on_framed_input(std::string_view input) {
    std::string_view rest = input;
    while (!is_over_) {
        if (raw_ && raw_->congested() && reader_.is_at_data(rest)) {
            is_framed_paused_ = true;
            framed_->pause();
            break;
        }
        const FrameReader::Piece piece = reader_.next(rest);
        if (piece.kind == FrameReader::Kind::none) break;
        take(piece);
    }
    return is_over_ ? input.size() : input.size() - rest.size();
}

void Splice::take(const FrameReader::Piece& piece) {
    switch (piece.kind) {
        case FrameReader::Kind::data:
            traffic_.to_raw.fetch_add(piece.bytes.size(), std::memory_order_relaxed);
            if (!raw_) return;
            raw_->output().append(piece.bytes);
            return raw_->flush();
        case FrameReader::Kind::end:
            has_framed_ended_ = true;
            if (peer_) peer_->has_left = true;
            if (raw_) raw_->finish_output();
            return;
        case FrameReader::Kind::gone:
            is_over_ = true;
            if (peer_) peer_->has_left = true;
            framed_->close_after_flush();
            return close_raw();
        case FrameReader::Kind::fault: return lose();
        case FrameReader::Kind::none: return;
    }
}

void Splice::on_framed_end_of_data() {
    lose();
}

void Splice::on_framed_output_sent() {
    if (std::exchange(is_raw_paused_, false) && raw_) raw_->resume();
}

void Splice::on_framed_closed() {
    framed_ = nullptr;
    lose();
}

void Splice::lose() {
    if (std::exchange(is_over_, true)) return;
    traffic_.lost.fetch_add(1, std::memory_order_relaxed);
    if (framed_) framed_->cut();
    close_raw();
}

void Splice::close_raw() {
    if (!raw_) return;
    if (peer_) {
        raw_->cut();
    } else {
        raw_->close_after_flush();
    }
}

void Splice::cut() {
    is_over_ = true;
    if (framed_) framed_->cut();
    if (raw_) raw_->cut();
}

}  // namespace holdfast::relay
