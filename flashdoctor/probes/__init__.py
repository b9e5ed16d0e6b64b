"""Host facts, one probe a file: each guarded, bounded in time, never fatal."""
