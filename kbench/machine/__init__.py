"""What this machine is and how fast: processor, GPUs, memory, and a fixed computation."""
