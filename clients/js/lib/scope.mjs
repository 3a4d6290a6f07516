// What can be locked, as a text: `name`, `named:x`, `path:/x`, `inode:7`, `range:7:0-4096`, `semaphore:x`. A text that
// begins with no known kind is a name. And sets of them, which are locked together.

const KINDS = ["named", "semaphore", "path", "inode", "range"];
const MODES = ["exclusive", "shared"];

/** The text of a scope, which may be an object as the server shows it. */
export function scopeText(scope) {
    if (typeof scope === "string" && scope !== "") return scope;
    const isObject = typeof scope === "object" && scope !== null;
    if (!isObject || !KINDS.includes(scope.kind)) {
        throw new TypeError('a scope is a text, such as "nightly-backup" or "path:/x", or an object with its kind');
    }
    if (scope.kind === "range") return `range:${scope.inode}:${scope.start}-${scope.end ?? ""}`;
    return `${scope.kind}:${scope.name ?? scope.path ?? scope.inode}`;
}

/** The same; a name has no kind in front of it, unless it needs one. */
export function shortText(scope) {
    const text = scopeText(scope);
    const { kind, rest } = splitScope(text);
    return kind === "named" && !splitScope(rest).kind ? rest : text;
}

/** The kind that the text begins with, if it does, and the rest. */
export function splitScope(text) {
    const kind = KINDS.find((known) => text.startsWith(`${known}:`));
    return { kind, rest: kind ? text.slice(kind.length + 1) : text };
}

/** The text to ask the server for. With a limit above 1, a name means the semaphore of that name. */
export function wantedText(scope, limit) {
    const text = scopeText(scope);
    if (limit === undefined) return text;
    const { kind = "named", rest } = splitScope(text);
    if (kind === "semaphore") return text;
    if (kind !== "named") throw new TypeError(`only a name can be a semaphore, not ${text}`);
    return limit > 1 ? `semaphore:${rest}` : text;
}

/**
 * What a call wants to lock: its name for people, and the fields of the request. `scopes` is a scope, or a list of
 * scopes and of `{ scope, mode, limit }`. A list of one is a usual lease.
 */
export function wanted(scopes, { shared, limit } = {}) {
    const members = [scopes].flat().map(readMember);
    if (members.length === 0) throw new TypeError("there is nothing to lock in an empty list");
    if (members.length === 1) {
        const [{ scope, mode = shared ? "shared" : undefined, limit: own = limit }] = members;
        const text = wantedText(scope, own);
        const fields = { scope: text };
        if (mode === "shared") fields.mode = mode;
        if (splitScope(text).kind === "semaphore") fields.limit = own;
        return { name: text, fields };
    }
    if (limit !== undefined) throw new TypeError("the limit of a set belongs to one of its members: { scope, limit }");
    const elements = members.map(toElement);
    const name = elements.map((element) => element.scope ?? element).join(", ");
    return { name, fields: { scopes: elements, ...(shared && { mode: "shared" }) } };
}

function readMember(member) {
    if (typeof member !== "object" || member === null || !("scope" in member)) return { scope: scopeText(member) };
    const { scope, mode, limit, ...unknown } = member;
    const [name] = Object.keys(unknown);
    if (name) throw new TypeError(`an element of a set has a scope, a mode and a limit, and no ${name}`);
    if (mode !== undefined && !MODES.includes(mode)) throw new TypeError('mode must be "exclusive" or "shared"');
    if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0)) {
        throw new TypeError("limit must be a whole number, at least 1");
    }
    return { scope: scopeText(scope), mode, limit };
}

/** The element of a request: a text if that says all of it. */
function toElement({ scope, mode, limit }) {
    const text = wantedText(scope, limit);
    const isSemaphore = splitScope(text).kind === "semaphore" && limit !== undefined;
    if (mode === undefined && !isSemaphore) return text;
    return { scope: text, ...(mode && { mode }), ...(isSemaphore && { limit }) };
}

/** The scopes of a lease that the server shows: a list only if there are several. Its elements may be texts. */
export function readScopes({ scope, scopes, mode }) {
    const members = scopes?.length > 0 ? scopes : [{ scope, mode }];
    return members.map((member) => {
        const isMember = typeof member === "object" && "scope" in member;
        return { scope: shortText(isMember ? member.scope : member), mode: (isMember && member.mode) || mode };
    });
}
