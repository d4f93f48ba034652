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

Report.table = function (table) {
  const element = Report.element;
  const collator = new Intl.Collator('en', {numeric: true});

  function cell(data, column, index) {
    const node = index === 0 ? element('th', {scope: 'row'}) : element('td');
    if (column.number) node.classList.add('number');
    if (data.t.length > 44 && data.t.includes(' ')) node.classList.add('long');
    if (data.to) {
      node.append(element('a', {href: '#' + data.to}, data.t));
    } else {
      node.append(data.t);
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
  node.append(element('div', {class: 'scroll', role: 'region', tabindex: '0', 'aria-label': table.caption},
    element('table', {}, element('caption', {}, table.caption),
      element('thead', {}, element('tr', {}, ...heads)), body)));
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
