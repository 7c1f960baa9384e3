"use strict";
const find = document.getElementById("find"), state = document.getElementById("state");
const rows = Array.from(document.querySelectorAll("tbody tr"));
function show() {
  const word = find.value.toLowerCase(), wanted = state.value;
  let shown = 0;
  for (const row of rows) {
    const named = row.cells[0].textContent.toLowerCase().includes(word);
    row.hidden = !(named && (!wanted || row.getElementsByClassName(wanted.split(" ")[0]).length));
    shown += row.hidden ? 0 : 1;
  }
  document.getElementById("shown").textContent = `${shown} of ${rows.length} names`;
}
find.addEventListener("input", show);
state.addEventListener("input", show);
show();
