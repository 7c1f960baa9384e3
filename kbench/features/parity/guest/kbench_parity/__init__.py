"""The guest of `parity`: computes one batch layer by layer, and a few steps, in a backend's own Python."""

# As those of kbench_guest/protocol.py.
EVENTS = {
    "parity": {
        "stage": "text", "file": "text?", "loss": "number?", "layers": "list?",
        "unknown": "text?", "reference_loss": "number?", "optimizer": "text?",
        "site": "text?", "carried": "integer?", "notes": "list?", "described": "object?", "refused": "text?",
        "calls": "list?",
    },
}  # fmt: skip
