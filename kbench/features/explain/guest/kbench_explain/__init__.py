"""The guest of `--explain` and `--trace`: looks into a training step in a backend's own Python."""

# As those of kbench_guest/protocol.py.
EVENTS = {
    "inside": {"site": "text", "parts": "list", "missing": "list", "turns": "list?"},
    "traced": {"steps": "integer", "file": "text", "operations": "list", "functions": "list", "missing": "list"},
}  # fmt: skip
