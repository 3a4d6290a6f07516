#pragma once

// Doubly linked lists threaded through slab records: O(1) at both ends and from the middle.

#include "core/containers/slab.h"
#include "core/records.h"

namespace holdfast::core {

// Which two members of a record link it into a list.
template <class T>
struct Links {
    Slot T::*next;
    Slot T::*previous;
};

inline constexpr Links<Lease> holder_links{&Lease::next, &Lease::previous};
inline constexpr Links<Lease> session_lease_links{&Lease::session_next, &Lease::session_previous};
inline constexpr Links<Waiter> queue_links{&Waiter::next, &Waiter::previous};
inline constexpr Links<Waiter> session_waiter_links{&Waiter::session_next,
                                                    &Waiter::session_previous};
inline constexpr Links<Enqueued> session_entry_links{&Enqueued::session_next,
                                                     &Enqueued::session_previous};
inline constexpr Links<Enqueued> expired_entry_links{&Enqueued::next_expired,
                                                     &Enqueued::previous_expired};
inline constexpr Links<Resource> idle_links{&Resource::next_idle, &Resource::previous_idle};

template <class T>
void append(Slab<T>& records, Links<T> links, SlotList& list, Slot slot) {
    T& record = records[slot];
    record.*links.next = no_slot;
    record.*links.previous = list.last;
    (list.last == no_slot ? list.first : records[list.last].*links.next) = slot;
    list.last = slot;
}

// Puts a record behind `earlier`, or first if that is no_slot.
template <class T>
void insert_after(Slab<T>& records, Links<T> links, SlotList& list, Slot earlier, Slot slot) {
    T& record = records[slot];
    const Slot later = earlier == no_slot ? list.first : records[earlier].*links.next;
    record.*links.previous = earlier;
    record.*links.next = later;
    (earlier == no_slot ? list.first : records[earlier].*links.next) = slot;
    (later == no_slot ? list.last : records[later].*links.previous) = slot;
}

template <class T>
void unlink(Slab<T>& records, Links<T> links, SlotList& list, Slot slot) {
    T& record = records[slot];
    const Slot next = record.*links.next, previous = record.*links.previous;
    (next == no_slot ? list.last : records[next].*links.previous) = previous;
    (previous == no_slot ? list.first : records[previous].*links.next) = next;
    record.*links.next = record.*links.previous = no_slot;
}

}  // namespace holdfast::core
