#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace holdfast::core {

// Page: of all that is offered, the first few in their order.
//
// A heap with the last of them on top: memory for the page alone, however much is offered.
template <class Item, class IsBefore>
class Page {
  public:
    Page(std::size_t size_max, IsBefore is_before)
        : size_max_(size_max), is_before_(std::move(is_before)) {}

    void offer(Item item) {
        if (items_.size() == size_max_) {
            if (items_.empty() || !is_before_(item, items_.front())) return;
            std::pop_heap(items_.begin(), items_.end(), is_before_);
            items_.pop_back();
        }
        items_.push_back(std::move(item));
        std::push_heap(items_.begin(), items_.end(), is_before_);
    }

    // In their order. Leaves nothing.
    [[nodiscard]] std::vector<Item> take() {
        std::sort_heap(items_.begin(), items_.end(), is_before_);
        return std::exchange(items_, {});
    }

  private:
    const std::size_t size_max_;
    const IsBefore is_before_;
    std::vector<Item> items_;
};

}  // namespace holdfast::core
