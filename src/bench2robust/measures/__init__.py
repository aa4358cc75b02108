"""What one episode shows: pure functions of a trajectory, for metrics, memory, rewards and assertions alike."""
