# Python runs this when it starts. Servers and tools hold tens of thousands of objects from their
# imports on, which each collection looks through, and which stay.
import gc

gc.set_threshold(50_000, 20, 100)
