import { h, morph } from './dom.js';
import { bytes, count, span } from './format.js';
import { wideTable } from './parts.js';

function facts(entries) {
  return h(
    'dl',
    { class: 'facts' },
    entries.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))),
  );
}

/** How a cluster and its etcd are. */
function clusterCard(cluster, now) {
  const { etcd } = cluster;
  return h(
    'section',
    { class: 'card' },
    h('h2', {}, 'Cluster'),
    facts([
      ['Leader', cluster.leader || `nobody: ${cluster.reason}`],
      ...(cluster.leader
        ? [
            ['Leads for', span(now - cluster.since_ms)],
            ['Epoch', count(cluster.epoch)],
          ]
        : []),
      ['etcd', etcd.version || 'not known yet'],
      ['Database', `${bytes(etcd.in_use_bytes)} in use, of ${bytes(etcd.quota_bytes)}`],
      ...(etcd.refuses_growth ? [['No new locks', etcd.refuses_growth]] : []),
      ...(etcd.warnings ?? []).map((warning) => ['Warning', warning]),
    ]),
  );
}

function nodesCard(cluster, now) {
  return h(
    'section',
    { class: 'card' },
    h('h2', {}, 'Nodes'),
    wideTable(
      'Nodes',
      ['Node', 'Role', 'Address for nodes', 'Up for', 'Version'],
      cluster.nodes.map((node) =>
        h(
          'tr',
          {},
          h('td', {}, node.name),
          h('td', {}, node.leads ? 'leads' : 'follows'),
          h('td', {}, node.peer),
          h('td', { class: 'number' }, span(now - node.started_ms)),
          h('td', {}, node.version),
        ),
      ),
    ),
  );
}

function shownFigures(figures) {
  return [
    ['Granted', count(figures.grants)],
    ['Renewed', count(figures.renewals)],
    ['Released', count(figures.releases)],
    ['Expired', count(figures.expiries)],
    ['Forced', count(figures.forced_releases)],
    ['On disk', bytes(figures.disk_bytes)],
  ];
}

function listenersCard(listeners) {
  return h(
    'section',
    { class: 'card' },
    h('h2', {}, 'Listeners'),
    wideTable(
      'Listeners',
      ['Door', 'Address', 'TLS', 'Connections'],
      listeners.map((listener) =>
        h(
          'tr',
          {},
          h('td', {}, listener.name),
          h('td', {}, listener.address),
          h('td', {}, listener.tls ? 'yes' : 'no'),
          h('td', { class: 'number' }, count(listener.connections)),
        ),
      ),
    ),
  );
}

function configurationCard(configuration) {
  return h('section', { class: 'card' }, h('h2', {}, 'Configuration'), facts(Object.entries(configuration)));
}

/** Version and health. Figures, listeners and configuration only for those who may read everything. */
export function aboutView(root) {
  return {
    title: 'About',
    update({ status, connection, serverNow }) {
      if (!status) return morph(root, h('h1', {}, 'About'), h('p', { class: 'quiet' }, 'No answer yet.'));
      const { figures } = status;
      morph(
        root,
        h(
          'div',
          { class: 'toolbar' },
          h('h1', {}, 'About'),
          h('span', { class: 'quiet' }, `Holdfast ${status.version}`),
        ),
        h(
          'section',
          { class: 'card' },
          h('h2', {}, 'Health'),
          facts([
            [
              'State',
              connection !== 'live'
                ? 'not reachable'
                : status.ready
                  ? 'ready: locks are granted'
                  : `not ready: ${status.reason}`,
            ],
            ['Running for', span(status.uptime_ms)],
            [
              'You are',
              status.admin ? 'an admin: you may end leases of others' : 'a user: you may look, and use locks',
            ],
            ...(figures ? shownFigures(figures) : []),
          ]),
        ),
        status.cluster ? clusterCard(status.cluster, serverNow) : null,
        status.cluster ? nodesCard(status.cluster, serverNow) : null,
        figures ? listenersCard(status.listeners) : null,
        figures ? configurationCard(status.configuration) : null,
        h(
          'p',
          { class: 'quiet' },
          'For machines: ',
          h('a', { href: '/metrics' }, '/metrics'),
          ', ',
          h('a', { href: '/openapi.json' }, '/openapi.json'),
          '.',
        ),
      );
    },
  };
}
