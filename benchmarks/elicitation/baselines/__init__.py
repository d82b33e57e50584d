"""The paper's competitors that need no training: tree search, a genetic search for sequences, and FACE."""
