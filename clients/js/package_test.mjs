// The package of the JavaScript client: what is in it, its types, and the story of its README.
//
//     node package_test.mjs HOLDFAST

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import * as holdfast from "./holdfast.mjs";
import { Server } from "./test/server.mjs";

const program = process.argv[2] ?? process.env.HOLDFAST_PROGRAM;
const here = fileURLToPath(new URL(".", import.meta.url));
const LIMIT_MS = 240_000;

let folder; // of a program that has installed the package
let packed; // what npm says of it

/** Runs a command there; resolves also if it fails. Nothing is read from or written to the user's own folders. */
async function run(command, ...words) {
    const env = { ...process.env, npm_config_cache: join(folder, "cache"), npm_config_update_notifier: "false" };
    for (const name of Object.keys(env)) if (name.startsWith("HOLDFAST_")) delete env[name];
    const options = { cwd: folder, env: { ...env, ...run.environment }, timeout: LIMIT_MS };
    return promisify(execFile)(command, words, options).then(
        ({ stdout }) => ({ isGood: true, stdout }),
        ({ stdout, stderr, message }) => ({ isGood: false, stdout, problem: stderr || message }),
    );
}

before(async () => {
    folder = await mkdtemp(join(tmpdir(), "holdfast-"));
    await writeFile(join(folder, "package.json"), '{ "name": "program", "private": true, "type": "module" }\n');
    const pack = await run("npm", "pack", here, "--json", "--offline", "--ignore-scripts");
    assert.ok(pack.isGood, pack.problem);
    [packed] = JSON.parse(pack.stdout);
    const words = ["--offline", "--ignore-scripts", "--no-audit", "--no-fund", `./${packed.filename}`];
    const install = await run("npm", "install", ...words);
    assert.ok(install.isGood, install.problem);
}, { timeout: LIMIT_MS });

after(() => rm(folder, { recursive: true }));

test("the package has what a program needs, and nothing else", () => {
    const parts = ["acquisition", "answer", "client", "errors", "events", "exchange", "lease", "lock", "options",
        "patience", "scope", "time", "transport", "waiters"];
    const paths = ["LICENSE", "README.md", "holdfast.d.ts", "holdfast.mjs", "package.json"];
    assert.deepEqual(
        packed.files.map(({ path }) => path).sort(),
        [...paths, ...parts.map((part) => `lib/${part}.mjs`)].sort(),
    );
});

test("the licence is that of the project", async () => {
    const licences = await Promise.all(["LICENSE", "../../LICENSE"].map((path) => readFile(join(here, path), "utf8")));
    assert.equal(licences[0], licences[1]);
});

test("a program that uses every function compiles, and one with mistakes does not", { timeout: LIMIT_MS }, async () => {
    await cp(join(here, "test/types"), join(folder, "types"), { recursive: true });
    const { stdout } = await run("tsc",
        "--strict", "--noEmit", "--skipDefaultLibCheck", "--target", "es2022", "--lib", "es2022,dom",
        "--module", "node16", "--moduleResolution", "node16", "types/uses.ts", "types/mistakes.ts");
    const errors = [...stdout.matchAll(/^(.*?)\((\d+),\d+\): error .*$/gm)];
    const mistakes = errors.filter(([, file]) => file === "types/mistakes.ts");
    assert.equal(mistakes.length, errors.length, stdout);
    const text = await readFile(join(here, "test/types/mistakes.ts"), "utf8");
    const expected = text.split("\n").flatMap((line, index) => (line.endsWith("// mistake") ? [index + 1] : []));
    assert.ok(expected.length > 20);
    assert.deepEqual([...new Set(mistakes.map(([, , line]) => Number(line)))], expected, stdout);
});

test("that program leaves nothing out", async () => {
    const text = await readFile(join(here, "test/types/uses.ts"), "utf8");
    for (const name of ["Client", "Leadership", "Lock", "Lease"]) {
        for (const method of Object.getOwnPropertyNames(holdfast[name].prototype)) {
            if (method === "constructor" || method.startsWith("_")) continue;
            assert.match(text, new RegExp(`\\.${method}\\b`), `${name}.${method} is not used`);
        }
    }
    for (const name of Object.keys(holdfast)) assert.match(text, new RegExp(`\\b${name}\\b`), `${name} is not used`);
});

test("the types name what there is", async () => {
    const text = await readFile(join(here, "holdfast.d.ts"), "utf8");
    const classes = [...text.matchAll(/^export class (\w+)[^{]*\{(.*?)\}$/gms)];
    assert.deepEqual(classes.map(([, name]) => name).sort(), Object.keys(holdfast).sort());
    for (const [, name, body] of classes) {
        const typed = [...body.matchAll(/^    (?:readonly )?(\w+)(?:<\w+>)?[(:]/gm)].map(([, member]) => member);
        const own = Object.getOwnPropertyNames(holdfast[name].prototype).filter((member) => !member.startsWith("_"));
        for (const member of own) {
            if (member !== "constructor") assert.ok(typed.includes(member), `${name}.${member} has no type`);
        }
        if (name !== "Client") continue;
        const methods = own.concat("owner");
        for (const member of typed) assert.ok(methods.includes(member), `there is no ${name}.${member}`);
    }
});

test("the story of the README runs as it says", { timeout: LIMIT_MS }, async () => {
    const text = await readFile(join(here, "README.md"), "utf8");
    const [, story, output] = /```js\n(.*?)```\n.*?```text\n(.*?)```/s.exec(text);
    await writeFile(join(folder, "story.mjs"), story);
    const server = await Server.start(program);
    try {
        run.environment = { HOLDFAST_SERVER: server.url };
        const { isGood, stdout, problem } = await run(process.execPath, "story.mjs");
        assert.ok(isGood, problem);
        assert.equal(stdout, output);
    } finally {
        await server.end();
    }
});
