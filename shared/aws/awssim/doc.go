// Package awssim runs the state on DynamoDB and S3 (shared/aws/dynamo) in a simulation: models of
// both services, several processes whose requests are interleaved and fail by a seed, and a check
// that what they were answered follows the contract. See docs/design/aws-simulator.md.
package awssim
