"""The guest of `script`: runs a user's program in a backend's own Python, and observes what it does."""

# As those of kbench_guest/protocol.py.
EVENTS = {
    "site": {"site": "text", "task": "text", "facts": "object"},
    "warning": {"text": "text", "where": "text"},
    "figure": {"name": "text", "value": "number"},
    "raised": {"name": "text", "within": "text", "error": "text", "given": "list"},
    "fit": {
        "site": "text", "seconds": "number", "epochs": "integer", "first": "integer",
        "cold": "integer?", "round": "integer?", "again": "integer?", "held": "integer?",
        "resident_mib": "number?",
    },
    "returned": {
        "site": "text", "trained": "integer?", "weights": "list?", "scores": "object?", "inputs": "object?",
        "outputs": "list?", "scales": "list?", "norms": "list?", "random": "integer?",
        "on_batch_seconds": "number?", "beside_fit": "object?", "shapes": "list?", "first_losses": "list?",
        "batch_seconds": "number?", "unchanged": "integer?", "restored": "object?",
    },
}  # fmt: skip
