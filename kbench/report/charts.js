// How each kind of chart is drawn: Vega-Lite specifications, from what kbench/report/charts.py gives.
"use strict";

const kbenchCharts = (() => {
  // Colours are those of page.css, so that a change between light and dark needs no new drawing.
  const config = {
    background: "transparent",
    font: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif",
    view: { stroke: null },
    axis: {
      labelColor: "var(--faint)", titleColor: "var(--faint)", titleFontWeight: "normal", labelFontSize: 12,
      titleFontSize: 12, gridColor: "var(--line)", domainColor: "var(--faint)", tickColor: "var(--faint)",
    },
  };
  // The light scheme of Paul Tol: told apart by colour-blind people, and unlike the colours of the backends.
  // How the name of a part begins, in the order of the bars; the last is any other, so that no part is left out.
  const PHASES = [
    ["import", "#77aadd"], ["data", "#ffaabb"], ["build", "#eedd88"], ["first prediction", "#aaaa00"], ["first step", "#ee8866"],
    ["first", "#bbcc33"], ["rest of first", "#bbcc33"], ["steady", "#44bb99"], ["evaluation", "#99ddff"], ["", "#bbbbbb"],
  ];
  const MEMORY = [["after import", "#77aadd"], ["", "#ee8866"]];
  const PALETTES = { phases: ["phase", PHASES], memory: ["part", MEMORY] };
  const HEIGHT = 200; // of what lines are drawn in
  const BAR = { phases: 22, memory: 22, times: 22 }; // height of a row
  const MARKED = 30; // points a line, up to which each has a marker
  const number = (field, more) => ({ field, type: "quantitative", ...more });
  const row = { field: "row", type: "nominal", title: "backend" };

  // Labels of an axis as people write times: all in ms where the longest is below a second. Some are left empty.
  function duration(longest) {
    const shown = longest < 1 ? "format(datum.value * 1000, ',~r') + ' ms'" : "format(datum.value, ',~r') + ' s'";
    return { labelOverlap: true, labelSeparation: 8, labelExpr: `datum.label === '' ? '' : datum.value === 0 ? '0' : ${shown}` };
  }

  // Columns to rows; null stands for a number that is not finite.
  function rows(columns) {
    const names = Object.keys(columns);
    return columns[names[0]].map((_, i) => Object.fromEntries(names.map((name) => [name, columns[name][i]])));
  }

  // Name and colour of the parts of a chart's bars.
  function parts(chart) {
    if (!(chart.kind in PALETTES)) return [];
    const [part, palette] = PALETTES[chart.kind];
    const place = (name) => palette.findIndex(([start]) => name.startsWith(start));
    const names = [...new Set(chart.columns[part])].sort((a, b) => place(a) - place(b));
    return names.map((name) => [name, palette[place(name)][1]]);
  }

  function base(values, hidden, layers) {
    return {
      $schema: "https://vega.github.io/schema/vega-lite/v6.json",
      width: "container",
      config,
      params: [{ name: "hidden", value: hidden }],
      data: { values },
      transform: [{ filter: "indexof(hidden, datum.row) < 0" }],
      ...layers,
    };
  }

  // Lines; a tooltip has the values of the point nearest to the pointer.
  function lines(values, styles, hidden, x, y, below, tooltip) {
    const perRow = new Map();
    for (const value of values) perRow.set(value.row, (perRow.get(value.row) ?? 0) + 1);
    const used = styles.filter((style) => perRow.has(style.label));
    const by = (range) => ({ ...row, scale: { domain: used.map((style) => style.label), range: used.map(range) }, legend: null });
    const near = { param: "near", empty: false };
    return base(values, hidden, {
      height: HEIGHT,
      autosize: { type: "fit-x", contains: "padding" },
      encoding: { x, color: by((style) => `var(--s${style.id})`), detail: { field: "row" } },
      layer: [
        ...below,
        { mark: { type: "line", strokeWidth: 1.8 }, encoding: { y, strokeDash: by((style) => style.dash) } },
        {
          params: [{ name: "near", select: { type: "point", on: "pointerover", clear: "pointerout", nearest: true } }],
          mark: { type: "point", filled: true },
          encoding: {
            y, shape: by((style) => style.shape), tooltip: [row, ...tooltip],
            opacity: { condition: { ...near, value: 1 }, value: Math.max(...perRow.values()) <= MARKED ? 0.9 : 0 },
            size: { condition: { ...near, value: 130 }, value: 46 },
          },
        },
      ],
    });
  }

  function curve(chart, styles, hidden) {
    const values = rows(chart.columns);
    const several = values.some((value) => value.spread !== null);
    for (const value of several ? values : []) {
      value.low = value.value - (value.spread ?? 0);
      value.high = value.value + (value.spread ?? 0);
    }
    const x = chart.x === "epoch"
      ? number("epoch", { axis: { tickMinStep: 1, format: "d" }, scale: { zero: false, nice: false, padding: 12 } })
      : number("seconds", { title: chart.log ? "training time (logarithmic)" : "training time",
          scale: chart.log ? { type: "log", nice: false, padding: 12 } : { zero: true }, axis: { tickCount: 6, ...duration(Math.max(...chart.columns.seconds)) } });
    const y = number("value", { title: null, scale: { zero: false }, axis: { tickCount: 6 } });
    const band = { mark: { type: "area", opacity: 0.16, line: false }, encoding: { y: number("low"), y2: { field: "high" } } };
    const reference = chart.reference === undefined ? [] : [
      { data: { values: [{ low: chart.ends[0], high: chart.ends[1] }] }, mark: { type: "rect", opacity: 0.15, tooltip: false },
        encoding: { x: null, y: number("low"), y2: { field: "high" }, color: { value: "var(--faint)" } } },
      { data: { values: [{ value: chart.reference }] }, mark: { type: "rule", strokeWidth: 1.2, strokeDash: [2, 3], tooltip: false },
        encoding: { x: null, y: number("value"), color: { value: "var(--faint)" } } },
    ];
    return lines(values, styles, hidden, x, y, [...reference, ...(several ? [band] : [])], [
      number("epoch", { format: "d" }),
      number("seconds", { title: "training time (s)", format: ".4" }),
      number("value", { title: chart.metric, format: chart.accuracy ? ".4f" : ".4" }),
      ...(several ? [number("spread", { title: "± sd", format: ".2" }), number("repeats", { format: "d" })] : []),
    ]);
  }

  // Against what varies between runs. The ideal line belongs to no row, so it is never hidden.
  function scaling(chart, styles, hidden) {
    const values = rows(chart.columns);
    const measured = [...new Set(values.map((value) => value.at))].sort((a, b) => a - b);
    const x = number("at", { title: chart.x, scale: { type: "log", base: 2, nice: false, padding: 16 },
      axis: { values: measured, format: ",", labelOverlap: true, labelSeparation: 6, grid: false } });
    // Very long intervals are cut off at `ends`.
    const scale = { type: "log", nice: false, ...(chart.ends ? { domain: chart.ends } : { padding: 10 }) };
    const y = number(chart.field, { title: chart.y, scale, axis: { tickCount: 4, format: ",~r" } });
    const ideal = {
      data: { values: rows(chart.ideal) },
      mark: { type: "line", strokeWidth: 1, tooltip: false },
      encoding: { x, y, color: { value: "var(--faint)" } },
    };
    const known = values.some((value) => value.low !== null);
    const interval = {
      transform: [{ filter: "datum.low !== null" }],
      mark: { type: "rule", strokeWidth: 1.2, clip: true },
      encoding: { y: number("low"), y2: { field: "high" } },
    };
    const ends = [number("low", { title: "at least", format: ",.4" }), number("high", { title: "at most", format: ",.4" })];
    return lines(values, styles, hidden, x, y, known ? [ideal, interval] : [ideal], [
      number("at", { title: chart.x, format: "," }),
      number(chart.field, { title: chart.y, format: ",.4" }),
      ...(known ? ends : []),
    ]);
  }

  // Shares of examples that lie within a factor of the fastest.
  function profile(chart, styles, hidden) {
    const x = number("factor", { title: chart.x, scale: { type: "log", nice: false }, axis: { tickCount: 5, format: ",~r" } });
    const y = number("share", { title: "examples", scale: { domain: [0, 1] }, axis: { format: "%" } });
    return lines(rows(chart.columns), styles, hidden, x, y, [], [
      number("factor", { title: "within", format: ".3" }),
      number("share", { title: "examples", format: ".0%" }),
    ]);
  }

  // Horizontal bars, stacked; rows in the table's order.
  function stacked(chart, hidden, part, amount, title, axis) {
    const values = rows(chart.columns);
    const used = parts(chart);
    for (const value of values) value.order = used.findIndex(([name]) => name === value[part]);
    return base(values, hidden, {
      height: { step: BAR[chart.kind] },
      mark: { type: "bar", stroke: "var(--paper)", strokeWidth: 1 },
      encoding: {
        y: { ...row, sort: [...new Set(values.map((value) => value.row))], title: null,
          axis: { labelColor: "var(--ink)", labelLimit: 170, ticks: false, domain: false } },
        x: number(amount, { axis: { title: null, tickCount: 5, ...axis } }),
        color: { field: part, type: "nominal", scale: { domain: used.map(([name]) => name), range: used.map(([, color]) => color) }, legend: null },
        order: number("order"),
        tooltip: [row, { field: part, type: "nominal", title: part }, number(amount, { title, format: ",.4" })],
      },
    });
  }

  // Bars of the steady times, each with its interval, and the ratio beside it.
  function times(chart, styles, hidden) {
    const values = rows(chart.columns);
    const end = chart.longest ?? Infinity;
    for (const value of values) value.shown = value.high === null ? null : Math.min(value.high, end);
    const used = styles.filter((style) => chart.columns.row.includes(style.label));
    const scale = chart.longest ? { domain: [0, chart.longest], nice: false } : { zero: true };
    const x = number("seconds", { title: null, scale, axis: { tickCount: 5, ...duration(Math.max(...chart.columns.seconds)) } });
    const known = values.some((value) => value.low !== null);
    const tooltip = [
      row, number("seconds", { title: chart.x, format: ",.4" }),
      ...(known ? [number("low", { title: "at least", format: ",.4" }), number("high", { title: "at most", format: ",.4" })] : []),
      { field: "ratio", type: "nominal", title: "ratio" },
    ];
    const rule = (color, width) => ({
      transform: [{ filter: "datum.low !== null" }],
      mark: { type: "rule", strokeWidth: width, clip: true, tooltip: false },
      encoding: { x: number("low"), x2: { field: "shown" }, color: { value: color } },
    });
    return base(values, hidden, {
      height: { step: BAR[chart.kind] },
      encoding: {
        y: { ...row, sort: chart.columns.row, title: null,
          axis: { labelColor: "var(--ink)", labelLimit: 170, ticks: false, domain: false } },
      },
      layer: [
        { mark: { type: "bar", clip: true },
          encoding: { x, tooltip, color: { ...row, scale: { domain: used.map((style) => style.label), range: used.map((style) => `var(--s${style.id})`) }, legend: null } } },
        rule("var(--paper)", 4.5),
        rule("var(--ink)", 1.6),
      ],
    });
  }

  // Seconds of the longest bar.
  function longest(chart) {
    const whole = {};
    for (const value of rows(chart.columns)) whole[value.row] = (whole[value.row] ?? 0) + value.seconds;
    return Math.max(...Object.values(whole));
  }

  function drawn(chart, styles, hidden) {
    switch (chart.kind) {
      case "times": return times(chart, styles, hidden);
      case "curve": return curve(chart, styles, hidden);
      case "scaling": return scaling(chart, styles, hidden);
      case "profile": return profile(chart, styles, hidden);
      case "phases": return stacked(chart, hidden, "phase", "seconds", "seconds", duration(longest(chart)));
      case "memory": return stacked(chart, hidden, "part", "mib", "MiB", { title: "MiB", format: ",~r" });
      default: throw new Error(`no chart of the kind ${chart.kind}`);
    }
  }

  return {
    rows,
    legend: parts, // which breaks into lines, as Vega's own does not
    // About how high a chart is, with the axis below it, which has no title where its labels have a unit.
    height: (chart) => (["times", "phases"].includes(chart.kind) ? 28 : 45) + (chart.kind in BAR ? BAR[chart.kind] * new Set(chart.columns.row).size : HEIGHT),
    specification: (chart, styles, hidden) => ({ ...drawn(chart, styles, hidden), description: chart.alternative }),
  };
})();
