// Copies text to the clipboard, and says so in the status beside the button.
"use strict";

function kbenchCopy(text, button) {
  const said = button.parentElement.querySelector("[role=status]");
  const tell = (what) => {
    said.textContent = what;
    setTimeout(() => { said.textContent = ""; }, 4000);
  };
  // Not every browser lets a page from the disk write to the clipboard.
  const byHand = () => {
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    button.focus();
    tell(done ? "Copied" : "The browser refused");
  };
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => tell("Copied"), byHand);
  else byHand();
}
