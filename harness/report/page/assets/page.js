// Builds the page from the data that stand in it.
'use strict';

(function () {
  const element = Report.element;
  const data = JSON.parse(document.getElementById('data').textContent);

  function facts(list) {
    const node = element('dl', {class: 'facts'});
    for (const fact of list) {
      node.append(element('dt', {}, fact.name), Report.toned(element('dd', {}, fact.value), fact.tone));
    }
    return node;
  }

  // Of plots with a choice those of one choice are shown at a time.
  function plots(list) {
    const choices = [...new Set(list.map((plot) => plot.choice).filter(Boolean))];
    const grid = element('div', {class: 'plots'});
    const figures = list.map((plot) => ({plot, node: null}));
    function show(choice) {
      for (const figure of figures) {
        const wanted = !figure.plot.choice || figure.plot.choice === choice;
        if (wanted && !figure.node) figure.node = Report.plot(figure.plot);
        if (figure.node) figure.node.hidden = !wanted;
      }
      grid.replaceChildren(...figures.map((figure) => figure.node).filter(Boolean));
    }
    show(choices[0]);
    if (choices.length < 2) return [grid];
    const names = Report.cutApart(choices, Math.min(window.innerWidth, 1100) - 130, Report.font(14));
    const select = element('select', {}, ...choices.map((choice, i) => element('option', {value: choice}, names[i])));
    select.addEventListener('change', () => show(select.value));
    return [element('label', {class: 'choose'}, 'Metric', select), grid];
  }

  function content(section, level) {
    const nodes = section.paragraphs.map((text) => element('p', {}, text));
    // What is good or bad about it comes first, what it was made with last.
    const telling = section.facts.filter((fact) => fact.tone), others = section.facts.filter((fact) => !fact.tone);
    if (telling.length) nodes.push(facts(telling));
    nodes.push(...section.icicles.map(Report.icicle));
    if (section.plots.length) nodes.push(...plots(section.plots));
    nodes.push(...section.tables.map(Report.table));
    if (others.length) nodes.push(facts(others));
    nodes.push(...section.parts.map((part) => build(part, level + 1)));
    return nodes;
  }

  function build(section, level) {
    const title = element('h' + level, {id: section.id + '-title'}, section.title);
    if (!section.folded) {
      const node = element('section', {id: section.id, 'aria-labelledby': section.id + '-title'}, title);
      node.append(...content(section, level));
      return node;
    }
    // What is folded is built when it is opened: there may be a hundred runs.
    const node = element('details', {id: section.id, class: 'part'},
      element('summary', {}, Report.toned(title, section.tone)));
    let built = false;
    node.addEventListener('toggle', () => {
      if (!node.open || built) return;
      built = true;
      node.append(...content(section, level));
    });
    node.open = section.open;
    return node;
  }

  // A link to something folded opens it.
  function follow() {
    const target = document.getElementById(location.hash.slice(1));
    if (!target) return;
    if (target.tagName === 'DETAILS') target.open = true;
    target.scrollIntoView();
  }

  function isDark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  }

  function showTheme() {
    const button = document.getElementById('theme');
    button.setAttribute('aria-pressed', String(isDark()));
    Report.redraw();
  }

  document.getElementById('subtitle').textContent = data.subtitle;
  document.getElementById('notice').textContent = data.notice;
  document.getElementById('verdicts').append(...data.verdicts.map(Report.verdict));
  for (const tile of data.tiles) {
    document.getElementById('tiles').append(element('div', {}, element('dt', {}, tile.name),
      Report.toned(element('dd', {}, tile.value), tile.tone)));
  }
  for (const section of data.sections) {
    const link = element('a', {href: '#' + section.id}, section.title);
    document.getElementById('contents').append(element('li', {}, link));
    document.getElementById('main').append(build(section, 2));
  }
  document.getElementById('theme').addEventListener('click', () => {
    document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
    showTheme();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', showTheme);
  window.addEventListener('hashchange', follow);
  // Paper is light, and shows what was not yet scrolled to.
  let before;
  window.addEventListener('beforeprint', () => {
    before = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = 'light';
    Report.drawAll();
    Report.redraw();
  });
  window.addEventListener('afterprint', () => {
    if (before) {
      document.documentElement.dataset.theme = before;
    } else {
      delete document.documentElement.dataset.theme;
    }
    Report.redraw();
  });
  showTheme();
  follow();
})();
