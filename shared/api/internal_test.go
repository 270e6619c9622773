package api

// Uploaders is how many files are sent at the same time.
const Uploaders = uploaders
