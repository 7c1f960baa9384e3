"""`bisect`: which release or commit made an example or a script slower, or changed its loss or memory."""
