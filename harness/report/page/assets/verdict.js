// What a gate found, at the top of the page: a word, a sentence, and each ratio on a scale.
'use strict';

Report.kScaleMargins = 4;  // that a scale reaches to either side of 1

// Where `ratio` lies on a scale for `margin`, from 0 to 1; what is beyond lies at its end.
Report.scalePlace = function (ratio, margin) {
  const place = 0.5 + Math.log(ratio) / Math.log1p(margin) / (2 * Report.kScaleMargins);
  return Math.min(1, Math.max(0, place));
};

// The margins as a zone, 1 as a line, the interval as a bar with its middle.
Report.scale = function (row) {
  const element = Report.element;
  const scale = element('div', {class: 'scale', role: 'img', 'aria-label': row.name + ': ' + row.text});
  if (!row.margin) return scale;
  const percent = (place) => (100 * place).toFixed(2) + '%';
  function add(name, low, high) {
    const node = Report.toned(element('span', {class: name}), row.tone);
    const from = Report.scalePlace(low, row.margin), to = Report.scalePlace(high, row.margin);
    node.style.left = percent(from);
    node.style.width = percent(to - from);
    scale.append(node);
    return node;
  }
  add('zone', 1 / (1 + row.margin), 1 + row.margin);
  add('one', 1, 1);
  if (typeof row.low === 'number' && typeof row.high === 'number') {
    const span = add('span', row.low, row.high);
    if (Report.scalePlace(row.low, row.margin) === 0) span.classList.add('beyond-left');
    if (Report.scalePlace(row.high, row.margin) === 1) span.classList.add('beyond-right');
  }
  add('middle', row.center, row.center);
  return scale;
};

Report.verdict = function (verdict, number) {
  const element = Report.element;
  const id = 'verdict-' + (number + 1);
  const word = Report.toned(element('span', {class: 'word'}, verdict.word), verdict.tone);
  const title = element('h2', {id}, word, ' ', element('span', {class: 'subject'}, verdict.subject));
  const node = Report.toned(element('section', {class: 'verdict', 'aria-labelledby': id}, title,
    element('p', {class: 'sentence'}, verdict.sentence)), verdict.tone);
  const list = element('ul', {class: 'judged'});
  for (const row of verdict.rows) {
    list.append(element('li', {}, element('span', {class: 'name'}, Report.breakable(row.name)),
      Report.scale(row), element('span', {class: 'ratio'}, row.text),
      Report.toned(element('span', {class: 'told-word'}, row.word), row.tone)));
  }
  node.append(list);
  const end = element('p', {class: 'note'});
  if (verdict.more) end.append(verdict.more + '. ');
  if (verdict.rows.some((row) => row.margin)) end.append('Left is worse, right is better; shaded: within the margin. ');
  end.append(element('a', {href: '#' + verdict.to}, 'How it came about'));
  node.append(end);
  return node;
};
