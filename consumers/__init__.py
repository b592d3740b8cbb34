"""The programs around the learner: they read events, predict, learn, emit, and keep the state safe."""
