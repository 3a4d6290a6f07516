#pragma once

// How clients wait for one lock and hand it on, in the words of a door.

#include <functional>
#include <string>

#include "wire/answer_framer.h"

namespace holdfast::bench {

struct HandoverSpeech {
    std::string door;           // the listener
    std::string ask;            // for the lock, and wait for it
    std::string idle_question;  // that takes no lock, and is answered at once
    std::string released;       // is in the answer to a release that was done
    AnswerFramer framer;
    // The request that gives back what was granted by this answer.
    std::function<std::string(const std::string& grant)> release;
};

[[nodiscard]] HandoverSpeech dflockd_handover();
[[nodiscard]] HandoverSpeech lockserver_handover();

}  // namespace holdfast::bench
