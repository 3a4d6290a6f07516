// Making and updating elements. Views say what they want to look like; `morph` changes only what differs, so
// that focus, selection and scroll positions stay.

const SVG = 'http://www.w3.org/2000/svg';
const SVG_TAGS = new Set(['svg', 'path', 'rect', 'line', 'text', 'g', 'title', 'polyline']);

/**
 * An element. Props: `class`, `style` (an object), `on` (an object of listeners), other names are attributes;
 * null and false leave an attribute out.
 * @param {string} tag
 * @param {Record<string, any>} [props]
 * @param {...(Node | string | number | null | undefined | false)} children
 */
export function h(tag, props = {}, ...children) {
  const element = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'style') Object.assign(element.style, value);
    else if (name === 'on') listen(element, value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

function listen(element, listeners) {
  element.listeners = listeners;
  for (const name of Object.keys(listeners)) {
    element.addEventListener(name, (event) => element.listeners[name]?.(event));
  }
}

/** Makes the children of `parent` look like `wanted`, changing as little as possible. */
export function morph(parent, ...wanted) {
  const children = wanted
    .flat()
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
  children.forEach((child, index) => {
    const old = parent.childNodes[index];
    if (!old) parent.append(child);
    else if (!isAlike(old, child)) old.replaceWith(child);
    else if (old !== child) update(old, child);
  });
  while (parent.childNodes.length > children.length) parent.lastChild.remove();
}

function isAlike(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && a.id === b.id;
}

function update(old, fresh) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if (old.hasAttribute('data-keep')) return;
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of [...fresh.attributes]) {
    if (name === 'style') {
      if (old.style.cssText !== fresh.style.cssText) old.style.cssText = fresh.style.cssText;
    } else if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (fresh.listeners) old.listeners = fresh.listeners;
  morph(old, [...fresh.childNodes]);
}
