// What can be locked, as a text: `name`, `named:x`, `path:/x`, `inode:7`, `range:7:0-4096`, `semaphore:x`. A text that
// begins with no known kind is a name.

const KINDS = ["named", "semaphore", "path", "inode", "range"];

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
