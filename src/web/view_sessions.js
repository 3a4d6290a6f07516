import { h, morph } from './dom.js';
import { count, span } from './format.js';
import { door, lockHref, title, wideTable } from './parts.js';
import { leasesOfSession } from './store.js';

const LOCKS_SHOWN = 6;

const byAge = (a, b) => (a.opened ?? 0) - (b.opened ?? 0);

/** Connections and logins, and what they hold: it is given back when they end. */
export function sessionsView(root) {
  return {
    title: 'Sessions',
    update({ state, serverNow }) {
      const sessions = [...state.sessions.values()].sort(byAge).slice(0, 500);
      const rows = sessions.map((session) => {
        const leases = leasesOfSession(state, session.id);
        return h(
          'tr',
          {},
          h('td', {}, String(session.id)),
          h('td', {}, session.owner || '-'),
          h('td', {}, door(session.door)),
          h('td', {}, session.opened === null ? 'before this page' : span(serverNow - session.opened)),
          h(
            'td',
            {},
            leases.length === 0
              ? h('span', { class: 'quiet' }, 'nothing')
              : leases
                  .slice(0, LOCKS_SHOWN)
                  .map(({ lock }, index) => [
                    index > 0 ? ', ' : '',
                    h('a', { href: lockHref(lock) }, title(lock)),
                  ])
                  .flat(),
            leases.length > LOCKS_SHOWN ? ` and ${count(leases.length - LOCKS_SHOWN)} more` : '',
          ),
        );
      });
      morph(
        root,
        h(
          'div',
          { class: 'toolbar' },
          h('h1', {}, 'Sessions'),
          h('span', { class: 'quiet' }, `${count(state.sessions.size)} open`),
        ),
        h(
          'p',
          { class: 'quiet' },
          'A session is a connection of a dflockd client, or a log-in at the files, that owns its locks: when it ends, they are given back.',
        ),
        sessions.length === 0
          ? null
          : h(
              'section',
              { class: 'card' },
              wideTable('Sessions', ['Session', 'Owner', 'Door', 'Open for', 'Holds'], rows),
            ),
      );
    },
  };
}
