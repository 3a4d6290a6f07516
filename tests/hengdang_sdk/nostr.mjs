// Signing events of Nostr (NIP-01) with BIP 340, as a browser extension does. For tests: it is slow, and its time
// tells about its key.

import { createHash } from 'node:crypto';

const P = 2n ** 256n - 2n ** 32n - 977n; // the field of secp256k1
const N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n; // the order of its group
const G = {
  x: 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n,
  y: 0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8n,
};

const modulo = (a, m) => ((a % m) + m) % m;

function invert(a, m) {
  let [r, nextR, s, nextS] = [modulo(a, m), m, 1n, 0n];
  while (nextR !== 0n) {
    const quotient = r / nextR;
    [r, nextR] = [nextR, r - quotient * nextR];
    [s, nextS] = [nextS, s - quotient * nextS];
  }
  return modulo(s, m);
}

// Null is the neutral element.
function add(a, b) {
  if (!a || !b) return a ?? b;
  if (a.x === b.x && a.y !== b.y) return null;
  const slope =
    a.x === b.x ? 3n * a.x * a.x * invert(2n * a.y, P) : (b.y - a.y) * invert(b.x - a.x, P);
  const x = modulo(slope * slope - a.x - b.x, P);
  return { x, y: modulo(slope * (a.x - x) - a.y, P) };
}

function multiply(point, factor) {
  let sum = null;
  for (let power = point; factor > 0n; factor >>= 1n, power = add(power, power)) {
    if (factor & 1n) sum = add(sum, power);
  }
  return sum;
}

const toBytes = (number) => Buffer.from(number.toString(16).padStart(64, '0'), 'hex');
const toNumber = (bytes) => BigInt(`0x${bytes.toString('hex')}`);
const sha256 = (...parts) =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();
const taggedHash = (tag, ...parts) => sha256(sha256(tag), sha256(tag), ...parts);

/** Somebody with a key; `seed` is a number from 1 on. */
export function createSigner(seed) {
  const secret = BigInt(seed);
  const point = multiply(G, secret);
  const key = point.y % 2n === 0n ? secret : N - secret;
  const publicKey = toBytes(point.x);

  function signHash(hash) {
    const nonce = modulo(toNumber(taggedHash('BIP0340/nonce', toBytes(key), publicKey, hash)), N);
    const r = multiply(G, nonce);
    const k = r.y % 2n === 0n ? nonce : N - nonce;
    const e = modulo(toNumber(taggedHash('BIP0340/challenge', toBytes(r.x), publicKey, hash)), N);
    return Buffer.concat([toBytes(r.x), toBytes(modulo(k + e * key, N))]).toString('hex');
  }

  return {
    publicKey: publicKey.toString('hex'),
    /** The event with its author, id and signature: what `window.nostr.signEvent` returns. */
    sign({ created_at, kind, tags, content }) {
      const pubkey = publicKey.toString('hex');
      const hash = sha256(JSON.stringify([0, pubkey, created_at, kind, tags, content]));
      return { id: hash.toString('hex'), pubkey, created_at, kind, tags, content, sig: signHash(hash) };
    },
  };
}

/** An event that logs in at `url`, with the scopes that the apps ask for. */
export function loginEvent(url, scopes = ['read', 'write']) {
  return {
    created_at: Math.floor(Date.now() / 1000),
    kind: 27235,
    tags: [['u', url], ['method', 'POST'], ...scopes.map((scope) => ['scope', scope])],
    content: JSON.stringify({ app: 'A drive', description: 'Files in a browser' }),
  };
}
