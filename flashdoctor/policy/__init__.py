"""What a team asks of its stacks, and what it puts up with for a while. Pure."""
