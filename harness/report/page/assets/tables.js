// Tables that sort and filter. Texts come from files that anybody may have written: they only ever
// become text nodes and attribute values, never markup.
'use strict';

const Report = {};

// An element with attributes and children; strings become text.
Report.element = function (name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
  for (const child of children) node.append(child);
  return node;
};

Report.toned = function (node, tone) {
  if (['good', 'doubt', 'bad'].includes(tone)) node.classList.add(tone);
  return node;
};

Report.kFilterFrom = 8;  // rows; fewer are seen at a glance

// `text` with places to break at in its long words: names of modules and files have no blanks.
Report.breakable = function (text) {
  const node = document.createDocumentFragment();
  for (const word of text.match(/\s+|\S+/g) || []) {
    const parts = word.length > 16 ? word.match(/[^._\/:,]+[._\/:,]*|[._\/:,]+/g) : [word];
    parts.forEach((part, i) => node.append(...(i > 0 ? [Report.element('wbr')] : []), part));
  }
  return node;
};

// What may stand one below the other: a name, its number, the interval behind that; a day and a time. Null for all else.
Report.pieces = function (text, number) {
  const kLongest = 24;  // letters of a piece, which is never broken
  const day = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d)$/.exec(text);
  const whole = (part) => Report.element('span', {class: 'piece'}, part);
  if (day) return day.slice(1).map(whole);
  const parts = number && /^(?:([^\s\d-]\S*) )?(-?\d.*?)(?: ([[(].*))?$/.exec(text);
  if (!parts || (!parts[1] && !parts[3])) return null;
  const short = (part) => part.length > kLongest ? Report.breakable(part) : whole(part);
  return [parts[1] && Report.breakable(parts[1]), short(parts[2]), parts[3] && short(parts[3])].filter(Boolean);
};

// The box of a table scrolls by itself. Where columns or rows are out of view a line says how many, and the box has a
// shadow at that edge.
Report.scrolling = function (box, heads) {
  const element = Report.element;
  const hint = element('p', {class: 'hint', 'aria-hidden': 'true'});
  const below = element('p', {class: 'hint rows', 'aria-hidden': 'true'});
  const frame = element('div', {class: 'frame'}, hint, element('div', {class: 'edges'}, box), below);
  function look() {
    const left = box.scrollLeft > 1, right = box.scrollLeft + box.clientWidth < box.scrollWidth - 1;
    frame.classList.toggle('more-left', left);
    frame.classList.toggle('more-right', right);
    frame.classList.toggle('wider', left || right);
    const over = box.scrollTop > 1, under = box.scrollTop + box.clientHeight < box.scrollHeight - 1;
    frame.classList.toggle('taller', over || under);
    frame.classList.toggle('more-below', under);
    below.textContent = over || under ? rowsOut() : '';
    // The first column stays where it is.
    const from = heads[0].getBoundingClientRect().right, to = box.getBoundingClientRect().left + box.clientWidth;
    const out = heads.slice(1).map((head) => head.getBoundingClientRect())
      .filter((place) => place.right > to + 1 || place.left < from - 1).length;
    hint.textContent = Math.max(out, 1) + ' of ' + heads.length + (out < 2 ? ' columns is' : ' columns are') +
      ' out of view: scroll ' + (left ? '\u2190' : '') + (right ? '\u2192' : '');
  }
  function rowsOut() {
    const edge = box.getBoundingClientRect(), head = heads[0].getBoundingClientRect().bottom;
    const rows = [...box.querySelectorAll('tbody tr')].filter((row) => !row.hidden)
      .map((row) => row.getBoundingClientRect());
    const above = rows.filter((row) => row.top < head - 1).length;
    const beneath = rows.filter((row) => row.bottom > edge.top + box.clientHeight + 1).length;
    return above + beneath + ' of ' + rows.length + ' rows are out of view: scroll ' +
      (above ? '\u2191' : '') + (beneath ? '\u2193' : '');
  }
  box.addEventListener('scroll', look, {passive: true});
  const watcher = new ResizeObserver(look);
  for (const node of [box, ...box.children]) watcher.observe(node);
  return frame;
};

Report.table = function (table) {
  const element = Report.element;
  const collator = new Intl.Collator('en', {numeric: true});
  const kShort = 16, kLong = 40;  // letters: always in one line; in several

  function cell(data, column, index) {
    const node = index === 0 ? element('th', {scope: 'row'}) : element('td');
    const inside = data.to ? element('a', {href: '#' + data.to}) : node;
    if (inside !== node) node.append(inside);
    const pieces = Report.pieces(data.t, column.number);
    if (column.number) node.classList.add('number');
    if (pieces) {
      node.classList.add('pieces');
      pieces.forEach((piece, i) => inside.append(...(i > 0 ? [' '] : []), piece));
    } else if (data.t.length > kShort) {
      const sentence = data.t.length > kLong && /\s/.test(data.t.slice(0, kLong));
      node.classList.add(sentence ? 'longer' : data.t.length > kLong ? 'chain' : 'long');
      inside.append(Report.breakable(data.t));
    } else {
      inside.append(data.t);
    }
    return Report.toned(node, data.tone);
  }

  const body = element('tbody');
  const rows = table.rows.map((data) => {
    const node = element('tr', {}, ...data.map((one, i) => cell(one, table.columns[i], i)));
    return {data, node, text: data.map((one) => one.t).join(' ').toLowerCase()};
  });

  // What has no number stands last, whichever way the others go.
  function compare(a, b, column, sign) {
    const x = a.data[column], y = b.data[column];
    const hasX = typeof x.k === 'number', hasY = typeof y.k === 'number';
    if (hasX && hasY) return sign * (x.k - y.k);
    if (hasX !== hasY) return hasX ? -1 : 1;
    return sign * collator.compare(x.t, y.t);
  }

  const heads = table.columns.map((column, index) => {
    const button = element('button', {type: 'button'}, column.title);
    const head = element('th', {scope: 'col', 'aria-sort': 'none'}, button);
    if (column.number) head.classList.add('number');
    if (column.title.length > 24) head.classList.add('long');
    button.addEventListener('click', () => {
      const ascending = head.getAttribute('aria-sort') !== 'ascending';
      for (const other of heads) other.setAttribute('aria-sort', 'none');
      head.setAttribute('aria-sort', ascending ? 'ascending' : 'descending');
      const sorted = rows.slice().sort((a, b) => compare(a, b, index, ascending ? 1 : -1));
      body.append(...sorted.map((row) => row.node));
    });
    return head;
  });

  body.append(...rows.map((row) => row.node));
  const node = element('div', {class: 'table'});
  if (rows.length >= Report.kFilterFrom) node.append(filter());
  const box = element('div', {class: 'scroll', role: 'region', tabindex: '0', 'aria-label': table.caption},
    element('table', {}, element('caption', {}, element('span', {}, table.caption)),
      element('thead', {}, element('tr', {}, ...heads)), body));
  node.append(Report.scrolling(box, heads));
  if (table.note) node.append(element('p', {class: 'note'}, table.note));
  return node;

  function filter() {
    const input = element('input', {type: 'search', autocomplete: 'off', spellcheck: 'false'});
    const count = element('p', {role: 'status', 'aria-live': 'polite'}, rows.length + ' rows');
    input.addEventListener('input', () => {
      const terms = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        row.node.hidden = !terms.every((term) => row.text.includes(term));
        if (!row.node.hidden) shown += 1;
      }
      count.textContent = terms.length ? shown + ' of ' + rows.length + ' rows' : rows.length + ' rows';
    });
    return element('div', {class: 'tools'}, element('label', {}, 'Filter', input), count);
  }
};
