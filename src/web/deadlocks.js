// Cycles of clients that wait for one another: what they say, and how they are drawn. No DOM here.

import { keyOfText, textOfScope } from './scopes.js';

/**
 * @typedef {{isHidden: boolean, name: string, holder: string, door: string, scope: string, heldBy: string,
 *   token: number | null}} Member
 * @typedef {{since: number, members: Member[], id: number | null}} Deadlock
 */

const HIDDEN = 'somebody you may not see';

function memberOf(entry) {
  if (entry.hidden)
    return { isHidden: true, name: HIDDEN, holder: '', door: '', scope: '', heldBy: '', token: null };
  const hasName = entry.waiter && entry.waiter !== entry.holder;
  return {
    isHidden: false,
    name: hasName ? `${entry.holder} (${entry.waiter})` : entry.holder,
    holder: entry.holder,
    door: entry.door ?? '',
    scope: textOfScope(entry.waits_for),
    heldBy: entry.held_by ?? '',
    token: entry.fencing_token ?? null,
  };
}

/**
 * A cycle of the server as a deadlock. Each member waits for the next one, and the last for the first.
 * @returns {Deadlock}
 */
export function deadlockOf(cycle, since, id = null) {
  const members = cycle.map(memberOf);
  members.forEach((member, index) => {
    const next = members[(index + 1) % members.length];
    member.heldBy = next.isHidden ? member.heldBy || next.name : next.name;
  });
  return { since, members, id };
}

/** The same text for the same cycle, wherever it begins. */
export function cycleKey({ members }) {
  const names = members.map(({ name, scope }) => JSON.stringify([name, scope]));
  const first = names.indexOf([...names].sort()[0]);
  return [...names.slice(first), ...names.slice(0, first)].join(' ');
}

/** `ann waits for bob, bob waits for ann`. */
export function cycleText({ members }) {
  return members.map(({ name, heldBy }) => `${name} waits for ${heldBy}`).join(', ');
}

/**
 * The deadlocks there are by an answer of GET /v1/deadlocks, and those that events told after it was made.
 * @param {Deadlock[]} known
 */
export function mergeDeadlocks(known, answer) {
  const position = Number(answer.position ?? Infinity);
  const merged = new Map();
  for (const { cycle, since } of answer.deadlocks) {
    const deadlock = deadlockOf(cycle, Date.parse(since));
    merged.set(cycleKey(deadlock), deadlock);
  }
  for (const deadlock of known) {
    const isNewer = deadlock.id !== null && deadlock.id > position;
    if (isNewer && !merged.has(cycleKey(deadlock))) merged.set(cycleKey(deadlock), deadlock);
  }
  return [...merged.values()];
}

/** Adds what an event `deadlock` told, unless it is known. */
export function addDeadlock(known, deadlock) {
  const key = cycleKey(deadlock);
  return known.some((other) => cycleKey(other) === key) ? known : [...known, deadlock];
}

/** Whether an event is about a lock or a client of a deadlock, so that the deadlock may be gone. */
export function concerns(deadlocks, data) {
  return deadlocks.some(({ members }) =>
    members.some(
      (member) => member.isHidden || member.holder === data.owner_id || member.token === data.fencing_token,
    ),
  );
}

/** The locks that the members of a deadlock wait for. */
export function keysOfDeadlock({ members }) {
  return [...new Set(members.filter(({ isHidden }) => !isHidden).map(({ scope }) => keyOfText(scope)))];
}

const BOX = { width: 460, nodeWidth: 150, nodeHeight: 34, margin: 4 };
const NODES_MAX = 8;
const SLIGHT_BEND = 14;
// Between two boxes side by side: the name of the lock has no room between them, and is above or below.
const WIDE_BEND = 58;

const round = (number) => Math.round(number * 10) / 10;

/**
 * Where a cycle is drawn: boxes in a round, and a curved arrow from each to the next, with the name of the lock beside
 * it. A cycle with too many members is not drawn (null); it is listed all the same.
 */
export function layOutCycle({ members }) {
  const count = members.length;
  if (count === 0 || count > NODES_MAX) return null;
  const height = count <= 2 ? 150 : Math.min(400, 150 + 50 * (count - 2));
  const places = placesOf(count, height);
  const nodes = members.map(({ name, isHidden }, index) => ({
    name: isHidden ? 'hidden' : name,
    ...places[index],
  }));
  const edges = members.map(({ scope }, index) => {
    const [from, to] = [nodes[index], nodes[(index + 1) % count]];
    return arrow(from, to, Math.abs(from.y - to.y) < 1 ? WIDE_BEND : SLIGHT_BEND, scope);
  });
  return { width: BOX.width, height, nodeWidth: BOX.nodeWidth, nodeHeight: BOX.nodeHeight, nodes, edges };
}

// The middles of the boxes: two side by side, more of them clockwise from the top, as far apart as there is room.
function placesOf(count, height) {
  const left = BOX.nodeWidth / 2 + BOX.margin;
  const right = BOX.width - left;
  if (count <= 2) return [left, right].slice(0, count).map((x) => ({ x, y: height / 2 }));
  const top = BOX.nodeHeight / 2 + BOX.margin;
  const isOdd = count % 2 === 1; // the last row is two boxes, and the arrow between them goes below
  const bottom = height - top - (isOdd ? WIDE_BEND - BOX.nodeHeight / 2 : 0);
  const angles = Array.from({ length: count }, (_, index) => (2 * Math.PI * index) / count);
  const widest = Math.max(...angles.map(Math.sin));
  const lowest = Math.min(...angles.map(Math.cos));
  return angles.map((angle) => ({
    x: round((left + right) / 2 + ((right - left) / 2) * (Math.sin(angle) / widest)),
    y: round(top + (bottom - top) * ((1 - Math.cos(angle)) / (1 - lowest))),
  }));
}

// From the edge of one box to the edge of another, bent to the left of its way by `bend`.
function arrow(from, to, bend, scope) {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const across = { x: (to.y - from.y) / length, y: -(to.x - from.x) / length };
  const control = {
    x: (from.x + to.x) / 2 + across.x * bend * 1.6,
    y: (from.y + to.y) / 2 + across.y * bend * 1.6,
  };
  const start = edgeOfBox(from, control);
  const tip = edgeOfBox(to, control);
  const angle = Math.atan2(tip.y - control.y, tip.x - control.x);
  const wing = (side) =>
    `${round(tip.x - 9 * Math.cos(angle + side))},${round(tip.y - 9 * Math.sin(angle + side))}`;
  return {
    scope,
    line: `M${start.x},${start.y} Q${round(control.x)},${round(control.y)} ${tip.x},${tip.y}`,
    head: `M${tip.x},${tip.y} L${wing(0.45)} L${wing(-0.45)} Z`,
    x: round((start.x + 2 * control.x + tip.x) / 4),
    y: round((start.y + 2 * control.y + tip.y) / 4),
  };
}

// Where the way from the middle of a box to a point leaves the box.
function edgeOfBox(node, point) {
  const way = { x: point.x - node.x, y: point.y - node.y };
  const share = Math.min(
    1,
    BOX.nodeWidth / 2 / Math.max(1e-6, Math.abs(way.x)),
    BOX.nodeHeight / 2 / Math.max(1e-6, Math.abs(way.y)),
  );
  return { x: round(node.x + way.x * share), y: round(node.y + way.y * share) };
}
