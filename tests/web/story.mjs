// A day at a company of builders and importers, for tests and pictures: a history, a set, an election and a deadlock.

import { ended, held, waits } from './fake_server.mjs';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const FIRST_TOKEN = 1_794_733_881_606_000;

/** Holds of `deploy`, handed over from one to the next, with every way to end. */
function deployments(next) {
  const endings = ['released', 'released', 'expired', 'released', 'forced', 'session', 'released', 'restart'];
  return Array.from({ length: 60 }, (_, index) => {
    const to = 8 * SECOND + index * 40 * SECOND;
    const how = endings[index % endings.length];
    const holder = `ci-runner-${(index % 4) + 1}`;
    const waited = index % 3 === 0 ? 0 : (index % 7) * 3 * SECOND;
    return ended('deploy', holder, {
      from: to + 31 * SECOND,
      to,
      how,
      waited,
      token: next(),
      metadata: `build ${4700 - index}`,
    });
  });
}

/** Very short holds, many of them. */
function queueItems(next) {
  return Array.from({ length: 400 }, (_, index) => {
    const to = 2 * SECOND + index * 1.4 * SECOND;
    const holder = `consumer-${(index % 3) + 1}`;
    return ended('queue-mail', holder, {
      from: to + 900,
      to,
      waited: 300,
      token: next(),
      door: 'lockserver',
    });
  });
}

/** Everything that a fake server needs. */
export function createStory() {
  let token = FIRST_TOKEN;
  const next = () => (token += 1);
  const set = ['accounts', 'ledger', 'path:/srv/exports/2026-11.csv'];
  const setScopes = set.map((text) => ({
    scope: text.startsWith('path:') ? { kind: 'path', path: text.slice(5) } : { kind: 'named', name: text },
    mode: 'exclusive',
  }));
  const earlier = [1, 2, 3].map((index) =>
    ended('accounts', index === 2 ? 'auditor' : 'month-end', {
      from: index * 3 * MINUTE + 70 * SECOND,
      to: index * 3 * MINUTE,
      how: index === 2 ? 'expired' : 'released',
      waited: index * 2 * SECOND,
      token: next(),
      ...(index === 2 ? {} : { scopes: setScopes }),
    }),
  );
  const history = [...deployments(next), ...queueItems(next), ...earlier];
  const setHolder = { scopes: set, age: 70 * SECOND, ttl: 180 * SECOND };
  const setToken = next();
  const locks = [
    ...set.map((text) =>
      text.startsWith('path:')
        ? held(text.slice(5), 'month-end', setToken, { ...setHolder, kind: 'path' })
        : held(text, 'month-end', setToken, setHolder),
    ),
    held('deploy', 'ci-runner-1', next(), { age: 7 * SECOND, waiters: 1, metadata: 'build 4701' }),
    held('invoices', 'ann', next(), { age: 95 * SECOND, waiters: 1 }),
    held('payments', 'bob', next(), { age: 90 * SECOND, waiters: 1 }),
    held('scheduler', 'node-2', next(), { age: 300 * SECOND, waiters: 2 }),
    ...Array.from({ length: 6 }, (_, index) =>
      held(`shard-0${index}`, `node-${(index % 3) + 1}`, next(), { age: index * MINUTE }),
    ),
  ];
  const tokenOf = (name) => locks.find((lock) => lock.lock_name === name).holders[0].fencing_token;
  const deadlock = {
    since: new Date(Date.now() - 20 * SECOND).toISOString(),
    cycle: [
      waits('ann', 'payments', 'bob', tokenOf('payments')),
      waits('bob', 'invoices', 'ann', tokenOf('invoices')),
    ],
  };
  const elections = {
    scheduler: {
      leader: 'node-2',
      value: 'http://10.0.0.12:9000',
      revision: 3,
      fencing_token: tokenOf('scheduler'),
      candidates: 3,
    },
  };
  const now = Date.now();
  const waiter = (owner_id, more) => ({
    place: 1,
    owner_id,
    door: 'scoped',
    mode: 'exclusive',
    waiting_since_ms: now - 12_000,
    waits_for: 'month-end',
    ...more,
  });
  const queues = {
    deploy: {
      queue: [waiter('ci-runner-2', { waits_for: 'ci-runner-1', scopes: ['deploy', 'staging'] })],
      queue_length: 1,
    },
  };
  return { locks, history, deadlocks: [deadlock], elections, queues };
}
