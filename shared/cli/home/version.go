package home

// Version is the version of this program.
const Version = "0.1.0"
