// Package aws runs the state on DynamoDB and S3 (shared/aws/dynamo) in a simulation. It has
// models of both services, and several processes. A seed determines how their requests are
// interleaved, and which requests fail. A check verifies that all results follow the contract. See
// docs/design/aws-simulator.md.
package aws
