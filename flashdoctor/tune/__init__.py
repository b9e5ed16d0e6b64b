"""What vLLM needs on this GPU and which flags give it: model config, memory, flags, lint. Pure."""
