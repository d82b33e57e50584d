"""When things happen: watermarks, timers, and events that wait for what they refer to."""
