// Server-sent events, read from a stream of text. The browser's own EventSource cannot send a token.

/** Takes text in pieces of any size, and returns the events that are whole: [{id, event, data}]. */
export function createSseParser() {
  let rest = '';
  let current = { id: null, event: 'message', data: [] };

  function readLine(line, events) {
    if (line === '') {
      if (current.data.length > 0) events.push({ ...current, data: current.data.join('\n') });
      current = { id: null, event: 'message', data: [] };
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return; // a comment
    const name = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? '' : line.slice(colon + 1);
    if (value.startsWith(' ')) value = value.slice(1);
    if (name === 'id') current.id = value;
    else if (name === 'event') current.event = value;
    else if (name === 'data') current.data.push(value);
  }

  return function feed(text) {
    const events = [];
    rest += text;
    let from = 0;
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n', from)) {
      readLine(rest.slice(from, rest[end - 1] === '\r' && end > from ? end - 1 : end), events);
      from = end + 1;
    }
    rest = rest.slice(from);
    return events;
  };
}
