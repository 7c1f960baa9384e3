"""`bisect`: which release or commit made an example or a script worse: its time, loss, memory or outputs."""
