// Numbers and times for people.

import { cycleText, deadlockOf } from './deadlocks.js';

/** `4 s`, `2 min 5 s`, `3 h 20 min`, `2 d 4 h`. */
export function span(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return join(minutes, 'min', seconds % 60, 's');
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return join(hours, 'h', minutes % 60, 'min');
  return join(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function join(big, bigUnit, small, smallUnit) {
  return small === 0 ? `${big} ${bigUnit}` : `${big} ${bigUnit} ${small} ${smallUnit}`;
}

/** What is left, to the tenth of a second at the end. */
export function countdown(ms) {
  if (ms === Infinity) return 'no end';
  return ms > 0 && ms < 10_000
    ? `${(Math.ceil(ms / 100) / 10).toFixed(1)} s`
    : span(Math.ceil(ms / 1000) * 1000);
}

/** `10:31:07`, of this machine's time zone. */
export function clock(ms) {
  const at = new Date(ms);
  return [at.getHours(), at.getMinutes(), at.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `10:31:07` of today, `17 Nov 10:31:07` of another day, `17 Nov 2025 10:31:07` of another year. */
export function moment(ms, now) {
  const at = new Date(ms);
  const today = new Date(now);
  if (at.toDateString() === today.toDateString()) return clock(ms);
  const year = at.getFullYear() === today.getFullYear() ? '' : ` ${at.getFullYear()}`;
  return `${at.getDate()} ${MONTHS[at.getMonth()]}${year} ${clock(ms)}`;
}

/** A text, cut where it is longer than this. */
export function cut(text, max) {
  const letters = [...text];
  return letters.length <= max ? text : `${letters.slice(0, max - 1).join('')}…`;
}

/** `12 345`. */
export function count(number) {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
}

/** `0`, `0.4`, `12`, `1 200`: a rate per second. */
export function rate(perSecond) {
  if (perSecond === 0) return '0';
  return perSecond < 10 ? perSecond.toFixed(1) : count(perSecond);
}

/** `0.8 ms`. */
export function milliseconds(ms) {
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${count(ms)} ms`;
}

/** `4.2 MiB`. */
export function bytes(number) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let unit = 0;
  let left = number;
  while (left >= 1024 && unit < units.length - 1) {
    left /= 1024;
    unit += 1;
  }
  const isWhole = unit === 0 || left >= 100 || Number.isInteger(left);
  return `${isWhole ? Math.round(left) : left.toFixed(1)} ${units[unit]}`;
}

const VALUE_SHOWN = 60;

/** What an event says, as a sentence without its lock; in brackets, who has asked for it. */
export function sentence(entry) {
  const by = entry.data.by ? ` (${entry.data.by})` : '';
  return whatHappened(entry) + by;
}

/** What administrators do, as sentences. Its lock, session or node stands beside it; who has done it, behind it. */
const ACTS = {
  force_release: 'an administrator ended the leases by force',
  end_session: 'an administrator ended the session',
  resign: 'an administrator made the leader hand over',
  new_epoch: 'an administrator began a new epoch',
  roll_back: 'the state was rolled back',
};

function whatHappened(entry) {
  const { type, owner, data } = entry;
  const waited = data.waited_ms >= 1000 ? ` after ${span(data.waited_ms)}` : '';
  switch (type) {
    case 'granted':
      if (data.previous_owner_id && data.previous_owner_id !== owner)
        return `${owner} took over from ${data.previous_owner_id}${waited}`;
      return `granted to ${owner}${waited}`;
    case 'renewed':
      return `renewed by ${owner}`;
    case 'released':
      if (data.cause === 'force') return `taken from ${owner} by force`;
      if (data.cause === 'session_end') return `given back as the session of ${owner} ended`;
      return `released by ${owner}`;
    case 'expired':
      return `the lease of ${owner} expired${data.cause === 'restart' ? ' after a restart of the server' : ''}`;
    case 'grace_ended':
      return `no longer kept for ${owner}`;
    case 'queued':
      return `${owner} waits, ${data.queue_length === 1 ? 'alone' : `one of ${data.queue_length}`}`;
    case 'wait_timed_out':
      return `${owner} waited in vain`;
    case 'wait_cancelled':
      return `${owner} stopped waiting`;
    case 'value_set':
      return `${owner} set the value to “${cut(data.value ?? '', VALUE_SHOWN)}”, revision ${data.revision}`;
    case 'deadlock':
      return cycleText(deadlockOf(data.cycle, data.at_ms));
    case 'audit':
      return ACTS[data.action] ?? data.action;
    case 'fence_refused':
      return `refused ${owner}, which is too old`;
    default:
      return type;
  }
}
