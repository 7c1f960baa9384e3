// What the page does: choose rows by name, state and backend, open cells, copy their programs.
"use strict";

(() => {
  const [find, state, backend] = ["find", "state", "backend"].map((id) => document.getElementById(id));
  const rows = [...document.querySelectorAll("tbody tr[data-name]")];
  const isBad = (cell) => cell.dataset.bad !== undefined;
  let touched = false; // whether a state was chosen by hand: else whoever searches means all of them

  const fits = (cell) => state.value === "" || (state.value === "bad" ? isBad(cell) : cell.dataset.state === state.value);

  function show() {
    if (find.value && !touched) state.value = "";
    const word = find.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      const cells = [...row.querySelectorAll("td[data-state]")].filter((one) => !backend.value || one.dataset.backend === backend.value);
      row.hidden = !(row.dataset.name.toLowerCase().includes(word) && cells.some(fits));
      shown += row.hidden ? 0 : 1;
      const more = row.querySelector("button[aria-expanded=true]");
      if (row.hidden && more) toggle(more);
    }
    document.getElementById("shown").textContent = `${shown} of ${rows.length} names`;
  }

  // One cell of a row is open at a time, below the row, where there is room for a program.
  function toggle(button) {
    const open = button.getAttribute("aria-expanded") !== "true";
    for (const other of button.closest("tr").querySelectorAll("button[aria-expanded]")) {
      other.setAttribute("aria-expanded", String(other === button && open));
      document.getElementById(other.getAttribute("aria-controls")).hidden = !(other === button && open);
    }
  }

  document.addEventListener("click", ({ target }) => {
    if (!(target instanceof HTMLButtonElement)) return;
    if (target.hasAttribute("aria-expanded")) toggle(target);
    if ("copy" in target.dataset) kbenchCopy(target.closest(".program").querySelector("code").textContent, target);
    if ("state" in target.dataset) {
      [find.value, state.value, backend.value, touched] = ["", target.dataset.state, target.dataset.backend, true];
      show();
      document.getElementById("names").scrollIntoView();
    }
  });
  find.addEventListener("input", show);
  backend.addEventListener("input", show);
  state.addEventListener("input", () => { touched = true; show(); });
  show();
})();
