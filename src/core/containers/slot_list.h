#pragma once

// Doubly linked lists that go through the records of a slab: constant time at both ends and in the
// middle, and no memory of their own. A record is in a list by two of its members.

#include "core/containers/slab.h"

namespace holdfast::core {

struct SlotList {
    Slot first = no_slot;
    Slot last = no_slot;
};

// The two members of a record that link it into a list.
template <class T>
struct Links {
    Slot T::*next;
    Slot T::*previous;
};

template <class T>
void append(Slab<T>& records, Links<T> links, SlotList& list, Slot slot) {
    T& record = records[slot];
    record.*links.next = no_slot;
    record.*links.previous = list.last;
    (list.last == no_slot ? list.first : records[list.last].*links.next) = slot;
    list.last = slot;
}

// Inserts a record behind `earlier`; as the first if `earlier` is no_slot.
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
