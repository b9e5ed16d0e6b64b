"""The rule language, the derivation of facts, the runner and the verdict."""
