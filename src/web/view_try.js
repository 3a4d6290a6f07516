import { change } from './api.js';
import { h, morph } from './dom.js';
import { countdown } from './format.js';
import { lockHref } from './parts.js';
import { lockKey } from './scopes.js';

/** Acquire, renew and release a lock by hand, and see what is sent and answered. */
export function tryView(root) {
  let lease = null;
  let page = null;
  const name = h('input', { id: 'try-name', value: 'my-first-lock', required: true, autocomplete: 'off' });
  const owner = h('input', { id: 'try-owner', value: 'me', required: true, autocomplete: 'off' });
  const seconds = h('input', {
    id: 'try-seconds',
    type: 'number',
    min: '1',
    max: '600',
    value: '30',
    required: true,
  });
  const button = (text, action, tone = '') =>
    h('button', { type: 'button', class: tone, on: { click: () => run(action) } }, text);
  const acquire = button('Acquire', 'acquire', 'primary');
  const renew = button('Renew', 'renew');
  const release = button('Release', 'release');
  const said = h(
    'div',
    { class: 'said', role: 'status' },
    h('p', { class: 'quiet' }, 'What is sent and answered will be shown here.'),
  );
  const state = h('p', { class: 'try-state' });
  morph(
    root,
    h('div', { class: 'toolbar' }, h('h1', {}, 'Try it')),
    h(
      'section',
      { class: 'card' },
      h(
        'p',
        {},
        'Take a lock by hand. Keep the ',
        h('a', { href: '#/locks' }, 'table of locks'),
        ' open in another window, or take the same lock from a terminal, and see who gets it.',
      ),
      h(
        'div',
        { class: 'fields' },
        h('label', {}, 'Lock', name),
        h('label', {}, 'Owner', owner),
        h('label', {}, 'Seconds', seconds),
      ),
      h('div', { class: 'actions start' }, acquire, renew, release),
      state,
      said,
    ),
  );

  const proof = () => ({
    owner_id: lease.owner_id,
    lease_id: lease.lease_id,
    fencing_token: lease.fencing_token,
  });
  const bodies = {
    acquire: () => ({ owner_id: owner.value, ttl_ms: Number(seconds.value) * 1000 }),
    renew: () => ({ ...proof(), extend_by_ms: Number(seconds.value) * 1000 }),
    release: proof,
  };

  async function run(action) {
    if (![name, owner, seconds].every((input) => input.reportValidity())) return;
    const path = `/v1/locks/${encodeURIComponent(action === 'acquire' ? name.value : lease.lock_name)}/${action}`;
    const body = bodies[action]();
    try {
      const answer = await change('POST', path, body);
      if (answer.body.acquired) lease = answer.body;
      if (answer.body.renewed === false || action === 'release') lease = null;
      morph(
        said,
        h(
          'pre',
          { tabindex: '0', 'aria-label': 'What was sent' },
          h('code', {}, `curl ${location.origin}${path} \\\n  -d '${JSON.stringify(body)}'`),
        ),
        h(
          'pre',
          { tabindex: '0', 'aria-label': 'What was answered', class: answer.status < 300 ? 'good' : 'low' },
          h('code', {}, `${answer.status} ${JSON.stringify(answer.body, null, 1)}`),
        ),
      );
    } catch (error) {
      morph(said, h('p', { class: 'error' }, `It could not be sent: ${error.message}`));
    }
    if (page) update(page);
  }

  function update(next) {
    page = next;
    const key = lease && lockKey('named', lease.lock_name);
    const holder = lease && page.state.locks.get(key)?.holders.get(lease.fencing_token);
    renew.disabled = release.disabled = !lease;
    if (!lease) return morph(state, '\u00a0');
    const link = h('a', { href: lockHref({ kind: 'named', name: lease.lock_name }) }, lease.lock_name);
    if (!holder) return morph(state, 'The lease on ', link, ' is over.');
    morph(state, 'You hold ', link, ` for another ${countdown(holder.expiry - page.serverNow)}.`);
  }
  return { title: 'Try it', update };
}
