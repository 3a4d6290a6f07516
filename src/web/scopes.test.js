import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  decodeName,
  encodeName,
  exactName,
  keyOfText,
  listed,
  lockKey,
  othersOf,
  parseScope,
  setOf,
  textOfName,
  textOfScope,
} from './scopes.js';

test('a text names a lock of its kind', () => {
  assert.deepEqual(parseScope('nightly'), { kind: 'named', name: 'nightly', scope: '' });
  assert.deepEqual(parseScope('a:b'), { kind: 'named', name: 'a:b', scope: '' });
  assert.deepEqual(parseScope('named:path:/x'), { kind: 'named', name: 'path:/x', scope: '' });
  assert.deepEqual(parseScope('path:/x:y'), { kind: 'path', name: '/x:y', scope: '' });
  assert.deepEqual(parseScope('range:7:0-10'), { kind: 'range', name: '7', scope: 'range:7:0-10' });
  assert.equal(keyOfText('range:7:0-10'), lockKey('inode', '7'));
});

test('a name that is not UTF-8 is one of its own, and goes back into an address', () => {
  assert.equal(exactName('a\u{1f512}/b', undefined), 'a\u{1f512}/b');
  const first = exactName('\ufffdbad', '%FFbad');
  const second = exactName('\ufffdbad', '%FEbad');
  assert.notEqual(first, second);
  assert.equal(encodeName(first), '%FFbad');
  assert.equal(encodeName(second), '%FEbad');
  assert.equal(decodeName(encodeName(first)), first);
  assert.equal(encodeName('a\u{1f512}/b'), encodeURIComponent('a\u{1f512}/b'));
  assert.equal(textOfScope({ kind: 'semaphore', name: '\ufffdbad', name_bytes: '%FFbad' }), `semaphore:${first}`);
});

test('a scope of the server, in any of its forms, has one text', () => {
  assert.equal(textOfScope('path:/x'), 'path:/x');
  assert.equal(textOfScope({ kind: 'named', name: 'a' }), 'a');
  assert.equal(textOfScope({ kind: 'named', name: 'inode:7' }), 'named:inode:7');
  assert.equal(textOfScope({ kind: 'path', path: '/x' }), 'path:/x');
  assert.equal(textOfScope({ kind: 'semaphore', name: 's' }), 'semaphore:s');
  assert.equal(textOfScope({ kind: 'inode', inode: 7 }), 'inode:7');
  assert.equal(textOfScope({ kind: 'range', inode: 7, start: 5 }), 'range:7:5-');
  assert.equal(
    textOfScope({ scope: { kind: 'range', inode: 7, start: 0, end: 9 }, mode: 'shared' }),
    'range:7:0-9',
  );
});

test('what a text is made of and what it is read as are the same', () => {
  for (const [kind, name] of [
    ['named', 'x'],
    ['named', 'path:/x'],
    ['named', 'range:'],
    ['path', '/a b'],
    ['inode', '7'],
    ['semaphore', 'named:y'],
  ]) {
    const { kind: readKind, name: readName } = parseScope(textOfName(kind, name));
    assert.deepEqual([readKind, readName], [kind, name]);
  }
});

test('a set has several locks, and the others are those that are not this one', () => {
  assert.deepEqual(setOf(undefined), []);
  assert.deepEqual(setOf(['a']), []);
  assert.deepEqual(setOf(['a', { kind: 'path', path: '/x' }]), ['a', 'path:/x']);
  assert.deepEqual(othersOf(['a', 'path:/x', 'b'], 'path:/x'), ['a', 'b']);
  const ranges = ['range:7:0-10', 'range:7:20-30'];
  assert.deepEqual(othersOf(ranges, 'inode:7', 'range:7:20-30'), ['range:7:0-10']);
  assert.equal(listed(['a', 'b', 'c', 'd', 'e']), 'a, b, c and 2 more');
  assert.equal(listed(['a', 'b']), 'a, b');
});
