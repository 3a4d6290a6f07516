#pragma once

// What libholdfast.so shows of itself; everything else in it is hidden.
#define HOLDFAST_API __attribute__((visibility("default")))
