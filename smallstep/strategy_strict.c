/* The language: arguments before the call, from left to right. */
#include "smallstep/strategy.h"

const StepStrategy strategy_strict = {
    .name = "strict",
    .sentence = "the language: arguments first, from left to right",
    .order = step_order_left,
    .keeps = true,
};
