"""What a tool, a call, a response, a task and an episode are; the ports; keyed randomness; errors.

Standard library only.
"""
