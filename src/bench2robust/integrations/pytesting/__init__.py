"""What the pytest plugin does once a test asks for faults; `bench2robust.pytest_plugin` has the hooks."""
