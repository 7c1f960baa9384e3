// What the page does: draw charts, toggle rows, sort tables, lay values out as tables.
"use strict";

(() => {
  const { charts, styles } = JSON.parse(document.getElementById("data").textContent);
  const views = new Map(); // id of a chart to its view, once it is drawn
  let hidden = []; // the rows that are not shown
  const own = Object.values(charts).filter((chart) => chart.columns); // which have values of their own
  let before = null;
  for (const chart of Object.values(charts)) {
    chart.columns ??= before.columns; // the chart against seconds has the values of that against epochs
    before = chart;
  }
  const options = { actions: false, ast: true, logLevel: vega.Error, renderer: "svg", tooltip: { theme: "custom" } };

  function legend(figure, parts) {
    const list = document.createElement("ul");
    list.className = "legend";
    for (const [name, color] of parts) {
      const item = document.createElement("li");
      item.textContent = name;
      item.style.setProperty("--own", color);
      list.append(item);
    }
    figure.querySelector(".plot").before(list);
  }

  function draw(figure) {
    const id = figure.dataset.chart;
    if (views.has(id)) return views.get(id);
    const chart = charts[id];
    const spec = kbenchCharts.specification(chart, styles, hidden);
    const drawn = vegaEmbed(figure.querySelector(".plot"), spec, options).then(({ view }) => {
      figure.dataset.drawn = "";
      // One picture with one text: reading out hundreds of marks helps nobody, and a table has the values.
      figure.querySelector(".plot").setAttribute("role", "img");
      figure.querySelector(".plot svg").setAttribute("aria-hidden", "true");
      return view.signal("hidden", hidden).runAsync();
    });
    views.set(id, drawn);
    return drawn;
  }

  const figures = [...document.querySelectorAll("figure[data-chart]")];
  // Room for all that is drawn later: a page that moves takes links away from under the pointer.
  for (const figure of figures) {
    const chart = charts[figure.dataset.chart];
    const parts = kbenchCharts.legend(chart);
    if (parts.length) legend(figure, parts);
    figure.style.setProperty("--room", `${kbenchCharts.height(chart)}px`);
  }
  // All of them, the visible ones first and the others while nothing else is done, so that a saved or photographed
  // page has them; one that is printed at once, too.
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((one) => one.isIntersecting)) {
      watch.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "400px" });
  figures.forEach((figure) => watch.observe(figure));
  // A browser that is never idle gets on with it after a second; one chart that fails does not keep the others back.
  const idle = (next) => window.requestIdleCallback ? requestIdleCallback(next, { timeout: 1000 }) : setTimeout(next, 50);
  const rest = [...figures];
  const next = () => rest.length && draw(rest.shift()).finally(() => idle(next));
  idle(next);
  // Paper has no folds: what is about the run is printed open.
  let unfolded = [];
  window.addEventListener("beforeprint", () => {
    figures.forEach(draw);
    unfolded = [...document.querySelectorAll("details[data-print]:not([open])")];
    for (const one of unfolded) one.open = true;
  });
  window.addEventListener("afterprint", () => unfolded.forEach((one) => { one.open = false; }));

  for (const toggles of document.querySelectorAll(".toggles")) {
    const boxes = [...toggles.querySelectorAll("input")];
    const apply = () => {
      hidden = boxes.filter((box) => !box.checked).map((box) => box.value);
      for (const drawn of views.values()) drawn.then((view) => view.signal("hidden", hidden).runAsync());
    };
    toggles.addEventListener("change", apply);
    toggles.addEventListener("click", (event) => {
      const all = event.target.dataset.all;
      if (all === undefined) return;
      for (const box of boxes) box.checked = all !== "";
      apply();
    });
    apply(); // a browser that returns to the page keeps its boxes
  }

  // A number as the tables write it (~1.03, 10.2-10.3, 22,369), or the text; missing values come last.
  function sortKey(cell) {
    const text = cell.textContent.trim();
    if (!cell.classList.contains("number")) return text;
    const number = parseFloat(text.replace(/[~,]/g, ""));
    return Number.isNaN(number) ? null : number;
  }

  function sort(heading) {
    const table = heading.closest("table");
    const place = heading.cellIndex;
    const down = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of table.querySelectorAll("thead th")) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down === 1 ? "ascending" : "descending");
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => [sortKey(row.cells[place]), row]);
    keyed.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return down * (typeof a === "number" ? a - b : a.localeCompare(b));
    });
    body.append(...keyed.map(([, row]) => row));
  }
  for (const button of document.querySelectorAll("table.sortable thead button")) {
    button.addEventListener("click", () => sort(button.parentElement));
  }

  // A table as it stands, sorted as it is: rows of texts, without the sign of sorting.
  function texts(table) {
    const text = (cell) => (cell.querySelector("button, span") ?? cell).textContent.replace(/[\s\u200b]+/g, (blank) => blank.includes("\u200b") ? "" : " ").trim();
    return [...table.rows].map((line) => [...line.cells].map((cell) => [text(cell), cell.classList.contains("number")]));
  }

  function asMarkdown(table) {
    const lines = texts(table).map((cells) => cells.map(([text]) => text.replace(/[\\`*_~$[\]|&<>]/g, "\\$&")));
    const [head, ...body] = table.tHead ? lines : [lines[0].map(() => ""), ...lines];
    const numbers = texts(table).at(-1).map(([, number]) => number ? "---:" : "---");
    return [head, numbers, ...body].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
  }

  // Numbers without separators of thousands, a missing one empty; what a spreadsheet would run as a formula is text.
  function asCsv(table) {
    const shown = ([text, number]) => {
      if (text === "-") return "";
      const value = number ? text.replace(/,(?=\d{3})/g, "") : text;
      const safe = /^[=+\-@\uff1d\uff0b\uff0d\uff20]/.test(value) ? `'${value}` : value;
      return /[",\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
    };
    return texts(table).map((cells) => `${cells.map(shown).join(",")}\n`).join("");
  }

  function save(text, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = `${name.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+|[-.]+$/g, "").slice(0, 80) || "table"}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  document.addEventListener("click", ({ target }) => {
    if (!(target instanceof HTMLButtonElement)) return;
    if ("copy" in target.dataset) kbenchCopy(target.parentElement.querySelector("code").textContent, target);
    const area = "take" in target.dataset ? target.closest(".table").querySelector(".scroll") : null;
    if (!area) return;
    const table = area.querySelector("table");
    if (target.dataset.take === "markdown") kbenchCopy(asMarkdown(table), target);
    else save(asCsv(table), `${document.title.replace("kbench: ", "")} ${area.getAttribute("aria-label")}`);
  });

  // A table that is wider than the page fades where it goes on.
  function mark(area) {
    const more = area.scrollWidth - area.clientWidth;
    area.dataset.more = [area.scrollLeft > 4 ? "left" : "", area.scrollLeft < more - 4 ? "right" : ""].join(" ").trim();
    area.parentElement.toggleAttribute("data-wide", more > 4);
  }
  const resized = new ResizeObserver((entries) => entries.forEach((one) => mark(one.target)));
  for (const area of document.querySelectorAll(".table > .scroll")) {
    area.addEventListener("scroll", () => mark(area), { passive: true });
    resized.observe(area);
  }

  const NAMES = { row: "backend", mib: "MiB", throughput: "samples/s", spread: "± sd", low: "at least", high: "at most" };
  function fill(details) {
    const place = details.querySelector(".scroll");
    if (place.firstChild) return;
    place.append(...own.filter((chart) => chart.example === details.dataset.example).map(values));
  }
  function values(chart) {
    const names = Object.keys(chart.columns).filter((name) => chart.columns[name].some((value) => value !== null));
    const table = document.createElement("table");
    table.createCaption().textContent = chart.metric ?? chart.title;
    const head = table.createTHead().insertRow();
    for (const name of names) {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = { value: chart.metric, at: chart.x }[name] ?? NAMES[name] ?? name;
      head.append(cell);
    }
    const body = table.createTBody();
    for (const row of kbenchCharts.rows(chart.columns)) {
      const line = body.insertRow();
      for (const name of names) {
        const cell = line.insertCell();
        cell.textContent = row[name] ?? "-";
        if (typeof row[name] === "number") cell.className = "number";
      }
    }
    return table;
  }
  for (const details of document.querySelectorAll("details.values")) {
    details.addEventListener("toggle", () => details.open && fill(details));
  }
})();
