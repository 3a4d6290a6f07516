import { cycleKey, cycleText, keysOfDeadlock, layOutCycle } from './deadlocks.js';
import { h } from './dom.js';
import { cut, moment } from './format.js';
import { hrefOfKey } from './parts.js';
import { keyOfText } from './scopes.js';

const NAME_SHOWN = 13;
const SCOPE_SHOWN = 24;

// Who waits for whom. The same is said below in words, and so the picture is only for the eye.
function graph(deadlock) {
  const place = layOutCycle(deadlock);
  if (place === null) return null;
  const { nodeWidth, nodeHeight } = place;
  return h(
    'svg',
    { class: 'cycle', viewBox: `0 0 ${place.width} ${place.height}`, 'aria-hidden': 'true' },
    place.edges.map(({ line, head, scope, x, y }) =>
      h(
        'g',
        {},
        h('path', { class: 'cycle-line', d: line }),
        h('path', { class: 'cycle-head', d: head }),
        h('text', { class: 'cycle-scope', x, y: y + 4, 'text-anchor': 'middle' }, cut(scope, SCOPE_SHOWN)),
      ),
    ),
    place.nodes.map(({ name, x, y }) =>
      h(
        'g',
        {},
        h('title', {}, name),
        h('rect', {
          x: x - nodeWidth / 2,
          y: y - nodeHeight / 2,
          width: nodeWidth,
          height: nodeHeight,
          rx: 8,
        }),
        h('text', { class: 'cycle-name', x, y: y + 5, 'text-anchor': 'middle' }, cut(name, NAME_SHOWN)),
      ),
    ),
  );
}

function line(member) {
  if (member.isHidden) return h('li', {}, `${member.name} waits for ${member.heldBy}`);
  return h(
    'li',
    {},
    h('strong', {}, member.name),
    ' waits for ',
    h('a', { href: hrefOfKey(keyOfText(member.scope)) }, member.scope),
    `, which ${member.heldBy} has`,
    member.token === null
      ? null
      : [' ', h('span', { class: 'quiet deadlock-number' }, `(fencing number ${member.token})`)],
  );
}

function card(deadlock, now) {
  return h(
    'section',
    { class: 'card deadlock', 'data-cycle': cycleKey(deadlock) },
    h(
      'p',
      { class: 'deadlock-line', role: 'alert' },
      h('strong', {}, 'deadlock: '),
      cycleText(deadlock),
      h('span', { class: 'since' }, `, since ${moment(deadlock.since, now)}`),
    ),
    h(
      'div',
      { class: 'deadlock-body' },
      graph(deadlock),
      h('ol', { 'aria-label': 'Who waits for whom' }, deadlock.members.map(line)),
    ),
  );
}

/** A red line, a picture and a list for each deadlock there is; of one lock, if its key is given. */
export function deadlockCards(deadlocks, now, key = null) {
  return deadlocks
    .filter((deadlock) => key === null || keysOfDeadlock(deadlock).includes(key))
    .map((deadlock) => card(deadlock, now));
}
