"""The guest of `workers`: the engines by which several workers train one model, in a backend's own Python."""

# As those of kbench_guest/protocol.py.
EVENTS = {
    "worker": {
        "epoch": "integer", "rank": "integer", "samples": "integer", "batch_size": "integer?", "read": "text?",
        "read_of_all": "text?", "loss": "number?", "communication_seconds": "number?", "peak_mib": "number?",
    },
}  # fmt: skip
