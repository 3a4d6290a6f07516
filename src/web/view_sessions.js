import { h, morph } from './dom.js';
import { count, span } from './format.js';
import { door, lockHref, title, wideTable } from './parts.js';
import { leasesOfSession } from './store.js';

const LOCKS_SHOWN = 6;

/** Connections and logins, and what they hold: it is given back when they end. */
export function sessionsView(root) {
  return {
    title: 'Sessions',
    update({ state, status, serverNow }) {
      const sessions = [...state.sessions.values()].sort((a, b) => a.id - b.id).slice(0, 500);
      const rows = sessions.map((session) => {
        const leases = leasesOfSession(state, session.id);
        return h(
          'tr',
          {},
          h('td', { class: 'number' }, String(session.id)),
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
      const all = status?.figures.sessions ?? sessions.length;
      morph(
        root,
        h(
          'div',
          { class: 'toolbar' },
          h('h1', {}, 'Sessions'),
          h('span', { class: 'quiet' }, `${count(all)} open`),
        ),
        h(
          'p',
          { class: 'quiet' },
          'A session is a connection that owns its locks: when it ends, they are given back. Shown are those that hold something or have been opened since this page was.',
        ),
        sessions.length === 0
          ? null
          : h(
              'section',
              { class: 'card' },
              wideTable('Sessions', ['Number', 'Owner', 'Door', 'Open for', 'Holds'], rows),
            ),
      );
    },
  };
}
