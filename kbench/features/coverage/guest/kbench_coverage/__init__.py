"""The guest of `coverage`: tries public names of Keras in a backend's own Python."""

# As those of kbench_guest/protocol.py.
EVENTS = {
    "public": {"name": "text", "parameters": "list", "called": "list?", "optional": "list?"},
    "begun": {"case": "integer", "check": "text?"},
    "case": {
        "case": "integer", "seconds": "number", "inputs": "text?", "outputs": "list?", "moved": "number?",
        "refused": "object", "gradients": "list?", "untrained": "text?", "slopes": "list?", "checks": "object?",
        "validated": "list?",
    },
}  # fmt: skip
