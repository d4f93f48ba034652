// Trees as nested bars that can be looked into. Each bar is an element of its own, so that it can be
// reached by keyboard, is told to screen readers as a tree, prints, and takes its colours from the style.
'use strict';

Report.kBarHeight = 23;   // pixels, as in page.css
Report.kLeastBar = 1.5;   // pixels; narrower neighbours are drawn as one bar without a name
Report.kLeastName = 34;   // pixels; less shows nothing of a name

// Children of each node, and how deep it lies.
Report.treeOf = function (nodes) {
  const children = nodes.map(() => []), depth = new Array(nodes.length).fill(0);
  for (let i = 1; i < nodes.length; i += 1) {
    children[nodes[i].p].push(i);
    depth[i] = depth[nodes[i].p] + 1;
  }
  return {nodes, children, depth};
};

Report.barColour = function (node) {
  return node.tone ? node.tone : node.c < 100 ? 'c' + (node.c % 8) : 'muted';
};

Report.icicle = function (icicle) {
  const element = Report.element;
  const trees = icicle.trees.map((tree) => Report.treeOf(tree.nodes));
  let tree = trees[0], root = 0;
  let bars = [];     // drawn: {index, node, left, width}; parents before children
  let font = '';     // of the bars
  let current = 0;   // index of the bar that Tab leads to

  const path = element('nav', {class: 'path', 'aria-label': 'Way back to the whole step'});
  const told = element('p', {class: 'told', 'aria-hidden': 'true'});
  const box = element('div', {class: 'icicle', role: 'tree', 'aria-label': icicle.title});
  const figure = element('figure', {class: 'wide'}, element('figcaption', {}, icicle.title));
  const keys = icicle.keys.map((key) => ({name: key.name, classes: Report.barColour({tone: key.tone, c: key.colour})}));
  if (trees.length > 1) figure.append(chooser());
  figure.append(Report.keys(keys), path, box, told, element('p', {}, icicle.description));

  function chooser() {
    const select = element('select', {}, ...icicle.trees.map((one, i) => element('option', {value: i}, one.choice)));
    select.addEventListener('change', () => {
      tree = trees[Number(select.value)];
      look(0, false);
    });
    return element('label', {class: 'choose'}, 'Order', select);
  }

  function way(index) {
    const list = [index];
    while (list[0] !== 0) list.unshift(tree.nodes[list[0]].p);
    return list;
  }

  function tell(index) {
    const node = tree.nodes[index];
    const names = way(index).slice(1).map((one) => tree.nodes[one].n);
    told.replaceChildren(element('strong', {}, names.join(' \u203a ') || node.n),
      (node.k ? ' (' + node.k + ')' : '') + ' \u00b7 ' + node.t);
  }

  // Makes `index` as wide as the picture.
  function look(index, focus) {
    root = index;
    draw();
    const steps = way(root);
    path.replaceChildren(...steps.map((one, i) => {
      const last = i === steps.length - 1;
      const button = element('button', {type: 'button'}, i === 0 ? 'whole step' : tree.nodes[one].n);
      if (last) button.setAttribute('aria-current', 'true');
      button.addEventListener('click', () => look(one, true));
      return button;
    }));
    tell(root);
    if (focus && bars.length) bars[0].node.focus({preventScroll: true});
  }

  function place(node, left, width, level) {
    node.style.left = left + 'px';
    node.style.width = Math.max(width - 1, 1) + 'px';
    node.style.top = level * Report.kBarHeight + 'px';
  }

  // Of a name as much as a bar of `width` pixels has room for.
  function nameIn(name, width) {
    const room = width - 10;  // less its padding and the gap
    if (Report.textWidth(name, font) <= room) return name;
    return width < Report.kLeastName ? '' : Report.cut(name, room, font);
  }

  function bar(index, left, width, level, position, count) {
    const data = tree.nodes[index];
    const whole = data.n + (data.k ? ', ' + data.k : '') + ': ' + data.t;
    const node = element('div', {
      role: 'treeitem', tabindex: '-1', class: 'bar ' + Report.barColour(data) + (data.k ? ' ' + data.k : ''),
      'aria-level': level + 1, 'aria-posinset': position, 'aria-setsize': count,
      'aria-label': whole, title: whole,
    }, nameIn(data.n, width));
    if (tree.children[index].length) node.setAttribute('aria-expanded', 'true');
    place(node, left, width, level);
    bars.push({index, node, left, width});
    return node;
  }

  function draw() {
    bars = [];
    font = Report.font(11.5);
    const whole = box.clientWidth || 900;
    const made = document.createDocumentFragment();
    const open = [{index: root, left: 0, width: whole, level: 0, position: 1, count: 1}];
    let levels = 1;
    while (open.length) {
      const one = open.shift();
      levels = Math.max(levels, one.level + 1);
      made.append(bar(one.index, one.left, one.width, one.level, one.position, one.count));
      const value = tree.nodes[one.index].v;
      const children = value > 0 ? tree.children[one.index] : [];
      let left = one.left, dust = 0;
      const sweep = () => {
        if (dust >= 1) {
          const node = element('div', {class: 'bar dust', 'aria-hidden': 'true'});
          place(node, left - dust, dust, one.level + 1);
          levels = Math.max(levels, one.level + 2);
          made.append(node);
        }
        dust = 0;
      };
      children.forEach((child, i) => {
        const width = one.width * tree.nodes[child].v / value;
        if (width >= Report.kLeastBar) {
          sweep();
          open.push({index: child, left, width, level: one.level + 1, position: i + 1, count: children.length});
        } else {
          dust += width;
        }
        left += width;
      });
      sweep();
    }
    box.replaceChildren(made);
    box.style.height = levels * Report.kBarHeight + 'px';
    current = 0;
    bars[0].node.tabIndex = 0;
  }

  function barAt(target) {
    const node = target.closest('.bar');
    return bars.findIndex((one) => one.node === node);
  }

  // A bar that has nothing below it is no place to look into; the widest one leads back.
  function enter(number) {
    const index = bars[number].index;
    if (index === root) return look(tree.nodes[root].p, true);
    if (tree.children[index].length) return look(index, true);
    return tell(index);
  }

  function reach(number) {
    bars[current].node.tabIndex = -1;
    current = number;
    bars[current].node.tabIndex = 0;
    tell(bars[current].index);
  }

  // The drawn bar that an arrow key leads to; -1 where there is none.
  function neighbour(key) {
    const here = bars[current], data = tree.nodes[here.index];
    const find = (test) => bars.findIndex(test);
    const level = tree.depth[here.index];
    if (key === 'ArrowDown') return find((one) => one.index !== root && tree.nodes[one.index].p === here.index);
    if (key === 'ArrowUp') return here.index === root ? -1 : find((one) => one.index === data.p);
    const row = bars.filter((one) => tree.depth[one.index] === level).sort((a, b) => a.left - b.left);
    const to = row[row.indexOf(here) + (key === 'ArrowRight' ? 1 : -1)];
    if (key === 'Home') return bars.indexOf(row[0]);
    if (key === 'End') return bars.indexOf(row[row.length - 1]);
    return to ? bars.indexOf(to) : -1;
  }

  box.addEventListener('click', (event) => {
    const number = barAt(event.target);
    if (number >= 0) enter(number);
  });
  box.addEventListener('mouseover', (event) => {
    const number = barAt(event.target);
    if (number >= 0) tell(bars[number].index);
  });
  box.addEventListener('mouseleave', () => tell(box.contains(document.activeElement) ? bars[current].index : root));
  box.addEventListener('focusin', (event) => {
    const number = barAt(event.target);
    if (number >= 0) reach(number);
  });
  box.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === 'Enter' || event.key === ' ') {
      enter(current);
    } else if (event.key === 'Escape' || event.key === 'Backspace') {
      if (root !== 0) look(tree.nodes[root].p, true);
    } else if (['ArrowDown', 'ArrowUp', 'ArrowLeft', 'ArrowRight', 'Home', 'End'].includes(event.key)) {
      const number = neighbour(event.key);
      if (number >= 0) bars[number].node.focus();
    } else {
      return;
    }
    event.preventDefault();
  });

  // It is as wide as there is room; what the focus stood on stays.
  let width = -1;
  new ResizeObserver(() => {
    if (box.clientWidth === width || !box.clientWidth) return;
    width = box.clientWidth;
    const focused = box.contains(document.activeElement) ? bars[current].index : -1;
    draw();
    const again = bars.findIndex((one) => one.index === focused);
    if (again >= 0) bars[again].node.focus({preventScroll: true});
  }).observe(box);
  look(0, false);
  return figure;
};
