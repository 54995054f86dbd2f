"""One fit for all models: data, recipe, run, and the frozen value that it leaves."""
