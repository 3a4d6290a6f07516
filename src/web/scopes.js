// The names of locks: as a text, as JSON, and as the key by which the page knows a lock.

const KINDS = ['named', 'semaphore', 'path', 'inode', 'range'];

// A name of an earlier version of the server may have bytes that are not UTF-8. Each is a letter here that no other name
// can have: the half of a pair of surrogates.
const LONE = 0xdc00;

/** The name in an answer. `bytes` is its `name_bytes`: only names that are not UTF-8 have them. */
export function exactName(name, bytes) {
  return bytes === undefined ? name : decodeName(bytes);
}

/** A name as it stands in an address. */
export function encodeName(name) {
  return Array.from(name, (letter) =>
    /^[\udc80-\udcff]$/.test(letter)
      ? `%${(letter.charCodeAt(0) - LONE).toString(16).toUpperCase()}`
      : encodeURIComponent(letter),
  ).join('');
}

/** What encodeName() was given. */
export function decodeName(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text.replace(/%([0-9a-f]{2})/gi, (_, digits) => {
      const code = parseInt(digits, 16);
      return String.fromCharCode(code < 0x80 ? code : LONE + code);
    });
  }
}

/** The lock a name stands for: an inode and its ranges are one. */
export function lockKey(kind, name) {
  return `${kind === 'range' ? 'inode' : kind}:${name}`;
}

function kindInFront(text) {
  const kind = text.slice(0, Math.max(0, text.indexOf(':')));
  return KINDS.includes(kind) ? kind : null;
}

/** `path:/srv/photos` as {kind, name}. Of a range, the name is its inode and `scope` is the text. */
export function parseScope(text) {
  const kind = kindInFront(text) ?? 'named';
  const what = kindInFront(text) ? text.slice(kind.length + 1) : text;
  if (kind !== 'range') return { kind, name: what, scope: '' };
  return { kind, name: what.split(':')[0], scope: text };
}

/** The key of the lock that a text names. */
export function keyOfText(text) {
  const { kind, name } = parseScope(text);
  return lockKey(kind, name);
}

/** `nightly`, `path:/srv/photos`. A name that begins like another kind says that it is a name: `named:path:x`. */
export function textOfName(kind, name) {
  return kind === 'named' && kindInFront(name) === null ? name : `${kind}:${name}`;
}

/** The text of a scope, which the server sends as a text, as an object, or as an object with a mode. */
export function textOfScope(scope) {
  if (typeof scope === 'string') return scope;
  if (scope.scope !== undefined) return textOfScope(scope.scope);
  if (scope.kind === 'range') return `range:${scope.inode}:${scope.start}-${scope.end ?? ''}`;
  const name = String(scope.path ?? scope.name ?? scope.inode);
  return textOfName(scope.kind, exactName(name, scope.name_bytes));
}

/** The texts of a lease on several scopes; none if it is on one alone. */
export function setOf(scopes) {
  return scopes?.length > 1 ? scopes.map(textOfScope) : [];
}

/** The others of a set, as seen from one lock, or from one of several ranges of it. */
export function othersOf(set, key, scope = '') {
  const own = set.findIndex((text) => (scope ? text === scope : keyOfText(text) === key));
  return set.filter((_, index) => index !== own);
}

/** `a, b and 3 more`. */
export function listed(texts, max = 3) {
  const shown = texts.slice(0, max).join(', ');
  return texts.length > max ? `${shown} and ${texts.length - max} more` : shown;
}
