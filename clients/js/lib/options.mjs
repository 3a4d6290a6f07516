// The options of the calls. Options that make no sense are a TypeError, before the server is asked for anything.

const isText = (value) => typeof value === "string" && value !== "";
const isNumber = (value) => typeof value === "number" && !Number.isNaN(value);
const isTexts = (value) => isText(value) || (Array.isArray(value) && value.length > 0 && value.every(isText));

const SIGNAL = [(value) => typeof value?.addEventListener === "function" && "aborted" in value, "an AbortSignal"];
const TEXT = [isText, "a text"];
const FLAG = [(value) => typeof value === "boolean", "true or false"];
const DURATION = [(value) => isNumber(value) && value >= 0, "a number of milliseconds, at least 0"];
const NATURAL = [(value) => Number.isSafeInteger(value) && value >= 0, "a whole number, at least 0"];
const COUNT = [(value) => Number.isSafeInteger(value) && value > 0, "a whole number, at least 1"];
const MOMENT = [(value) => isNumber(value) || value instanceof Date, "a Date, or milliseconds since 1970"];
const ON_DEADLOCK = [(value) => ["refuse", "wait"].includes(value), '"refuse" or "wait"'];
const FUNCTION = [(value) => typeof value === "function", "a function"];

export const WAITING = { waitMs: DURATION, signal: SIGNAL };
export const SIGNAL_ONLY = { signal: SIGNAL };
export const CLIENT = {
    servers: [isTexts, "a text, or a list of texts"],
    token: TEXT,
    tokenFile: TEXT,
    caFile: TEXT,
    timeoutMs: DURATION,
    retryForMs: DURATION,
    owner: TEXT,
};
export const ACQUIRE = {
    ...WAITING,
    ttlMs: [(value) => Number.isFinite(value) && value >= 1, "a number of milliseconds, at least 1"],
    shared: FLAG,
    limit: COUNT,
    metadata: [(value) => typeof value === "string", "a text"],
    requestId: TEXT,
    owner: TEXT,
    onDeadlock: ON_DEADLOCK,
    waiter: TEXT,
};
export const LOCK = { ...ACQUIRE, onLost: FUNCTION };
export const CAMPAIGN = {
    ...WAITING,
    candidate: TEXT,
    value: ACQUIRE.metadata,
    ttlMs: ACQUIRE.ttlMs,
    onDeadlock: ON_DEADLOCK,
    waiter: TEXT,
    onLost: FUNCTION,
};
export const RETRY = {
    ttlMs: ACQUIRE.ttlMs,
    shared: FLAG,
    limit: COUNT,
    metadata: ACQUIRE.metadata,
    owner: TEXT,
    waiter: TEXT,
    signal: SIGNAL,
    maxRetries: NATURAL,
    minRetryMs: DURATION,
    maxRetryMs: DURATION,
    jitter: [(value) => isNumber(value) && value >= 0 && value <= 1, "a number from 0 to 1"],
    maxTotalWaitMs: DURATION,
};
export const HEARTBEAT = { onLost: FUNCTION, signal: SIGNAL };
export const RENEW = { ttlMs: ACQUIRE.ttlMs, signal: SIGNAL };
export const CHECK = { shared: FLAG, signal: SIGNAL };
export const LEASES = { kind: TEXT, holder: TEXT, inode: NATURAL, path: TEXT, pageSize: COUNT, signal: SIGNAL };
export const HISTORY = {
    scope: [(value) => isText(value) || (typeof value === "object" && value !== null), "a scope"],
    prefix: TEXT,
    owner: TEXT,
    since: MOMENT,
    until: MOMENT,
    pageSize: COUNT,
    signal: SIGNAL,
};
export const WATCH = { prefix: TEXT, after: NATURAL, signal: SIGNAL };
export const ASK = { body: [(value) => typeof value === "object", "an object"], isRepeatable: FLAG, signal: SIGNAL };

/** The options, if each is known and of its type. Options that are undefined are as good as absent. */
export function checked(options, known) {
    if (typeof options !== "object" || options === null) throw new TypeError("options are an object");
    const given = Object.entries(options).filter(([, value]) => value !== undefined);
    for (const [name, value] of given) {
        if (!Object.hasOwn(known, name)) throw new TypeError(`there is no option ${name}`);
        const [isGood, what] = known[name];
        if (!isGood(value)) throw new TypeError(`${name} must be ${what}`);
    }
    return Object.fromEntries(given);
}

/** The argument, if it may be the value of a candidacy. */
export function checkedValue(value) {
    if (typeof value !== "string") throw new TypeError("the value must be a text");
    return value;
}

/** The argument, if it is a text. */
export function checkedText(value, what) {
    if (!isText(value)) throw new TypeError(`${what} must be a text`);
    return value;
}
