"""Values that merge: last-writer-wins, add-wins set, grow-only counter, snapshot. No I/O."""
