"""Labels, queues and daily sums for a parcel counter."""
