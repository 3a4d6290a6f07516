import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addDeadlock,
  concerns,
  cycleKey,
  cycleText,
  deadlockOf,
  keysOfDeadlock,
  layOutCycle,
  mergeDeadlocks,
} from './deadlocks.js';

const waits = (holder, name, held_by, fencing_token, more = {}) => ({
  holder,
  waiter: holder,
  door: 'scoped',
  waits_for: { kind: 'named', name },
  held_by,
  fencing_token,
  ...more,
});
const THREE = [waits('ann', 'b', 'bob', 2), waits('bob', 'c', 'cy', 3), waits('cy', 'a', 'ann', 1)];
const PAIR = [waits('ann', 'b', 'bob', 2), waits('bob', 'a', 'ann', 1)];

test('a cycle is told in one sentence', () => {
  assert.equal(cycleText(deadlockOf(PAIR, 5)), 'ann waits for bob, bob waits for ann');
  const threads = [
    waits('app', 'b', 'app', 2, { waiter: 't1' }),
    waits('app', 'a', 'app', 1, { waiter: 't2' }),
  ];
  assert.equal(cycleText(deadlockOf(threads, 5)), 'app (t1) waits for app (t2), app (t2) waits for app (t1)');
});

test('members that one may not see are in the cycle, without their names', () => {
  const { members } = deadlockOf([waits('ann', 'b', 'bob', 2), { hidden: true }], 5);
  assert.equal(members[1].name, 'somebody you may not see');
  assert.equal(members[1].heldBy, 'ann');
  assert.deepEqual(keysOfDeadlock({ members }), ['named:b']);
});

test('the same cycle is the same wherever it begins, and in the other direction another', () => {
  const turned = deadlockOf([PAIR[1], PAIR[0]], 9);
  assert.equal(cycleKey(turned), cycleKey(deadlockOf(PAIR, 5)));
  assert.equal(addDeadlock([deadlockOf(PAIR, 5)], turned).length, 1);
  const other = deadlockOf([waits('ann', 'a', 'bob', 2), waits('bob', 'b', 'ann', 1)], 5);
  assert.notEqual(cycleKey(other), cycleKey(turned));
});

test('an answer replaces what was known, but not what an event told after it', () => {
  const event = (id) => deadlockOf(PAIR, 5, id);
  const none = { deadlocks: [], position: 10 };
  assert.deepEqual(mergeDeadlocks([event(9)], none), []);
  assert.deepEqual(mergeDeadlocks([event(10)], none), []);
  assert.equal(mergeDeadlocks([event(11)], none).length, 1);
  assert.deepEqual(mergeDeadlocks([deadlockOf(PAIR, 5)], none), []);
  const shown = { deadlocks: [{ since: '1970-01-01T00:00:07Z', cycle: PAIR }], position: 10 };
  assert.deepEqual(
    mergeDeadlocks([event(11)], shown).map(({ since }) => since),
    [7000],
  );
});

test('what happens to a member or to its lease may end the cycle', () => {
  const deadlocks = [deadlockOf(PAIR, 5)];
  assert.ok(concerns(deadlocks, { owner_id: 'bob' }));
  assert.ok(concerns(deadlocks, { owner_id: 'other-name', fencing_token: 2 }));
  assert.ok(!concerns(deadlocks, { owner_id: 'carl', fencing_token: 3 }));
  assert.ok(concerns([deadlockOf([PAIR[0], { hidden: true }], 5)], { owner_id: 'carl' }));
});

test('a cycle is drawn inside its box, every arrow from one member to the next', () => {
  for (const count of [1, 2, 3, 5, 8]) {
    const cycle = Array.from({ length: count }, (_, index) =>
      waits(`h${index}`, `s${index}`, `h${(index + 1) % count}`, index),
    );
    const { width, height, nodeWidth, nodeHeight, nodes, edges } = layOutCycle(deadlockOf(cycle, 0));
    assert.equal(new Set(nodes.map(({ x, y }) => `${x} ${y}`)).size, count);
    for (const { x, y } of nodes) {
      assert.ok(x - nodeWidth / 2 >= 0 && x + nodeWidth / 2 <= width, `${count}: x ${x}`);
      assert.ok(y - nodeHeight / 2 >= 0 && y + nodeHeight / 2 <= height, `${count}: y ${y}`);
    }
    edges.forEach(({ line, x, y }, index) => {
      const [startX, startY, , , tipX, tipY] = line.match(/-?[\d.]+/g).map(Number);
      const touches = (node, atX, atY) =>
        Math.abs(atX - node.x) <= nodeWidth / 2 + 0.2 && Math.abs(atY - node.y) <= nodeHeight / 2 + 0.2;
      assert.ok(touches(nodes[index], startX, startY), `${count}: start of ${line}`);
      assert.ok(touches(nodes[(index + 1) % count], tipX, tipY), `${count}: tip of ${line}`);
      assert.ok(x >= 0 && x <= width && y >= 0 && y <= height, `${count}: label at ${x}, ${y}`);
    });
  }
  const { nodes, edges, nodeHeight } = layOutCycle(deadlockOf(THREE, 0));
  const below = Math.max(...nodes.map(({ y }) => y)) + nodeHeight / 2;
  assert.ok(edges[1].y - 10 > below, 'the name of a lock is not on the boxes that are side by side');
  const crowd = Array.from({ length: 9 }, (_, index) => waits(`h${index}`, 's', 'h', index));
  assert.equal(layOutCycle(deadlockOf(crowd, 0)), null);
});
