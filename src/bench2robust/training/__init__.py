"""Reward, curriculum, grouped rollouts, and trainers."""
