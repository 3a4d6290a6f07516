#pragma once

// The variables of dflockd in the environment of `holdfast serve`: what was set up for dflockd goes
// on counting where neither a flag nor a variable of our own gives a value. As every variable, they
// override the configuration file.
//
// Each variable that begins with DFLOCKD_ either gives an option its value (ServeOptions::borrowed),
// or is named in a warning at the start (ServeOptions::unused). `holdfast dflockd` reads its
// variables as dflockd does, and not here.

#include "app/serve_options.h"
#include "base/result.h"
#include "options/options.h"

namespace holdfast::app {

// REQUIRES: the command line and our own variables were read, and the configuration file was not. An
// error names a variable whose value makes no sense.
[[nodiscard]] base::Result<void> take_dflockd_variables(const options::Command& command,
                                                        ServeOptions& options);

}  // namespace holdfast::app
