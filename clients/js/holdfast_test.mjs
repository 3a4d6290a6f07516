// The JavaScript client against the real server.
//
//     node holdfast_test.mjs HOLDFAST

import { runChecks } from "./test/harness.mjs";
import "./test/calls_test.mjs";
import "./test/parts_test.mjs";
import "./test/requests_test.mjs";
import "./test/scenarios_test.mjs";
import "./test/sets_test.mjs";

runChecks();
