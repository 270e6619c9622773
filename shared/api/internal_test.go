package api

import "southbound/shared/api/client"

// Uploaders is how many files are sent at the same time.
const Uploaders = client.Uploaders
