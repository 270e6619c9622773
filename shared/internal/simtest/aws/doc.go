// Package aws runs the state on DynamoDB (shared/aws/dynamo) on a model of a table. See
// docs/design/aws-simulator.md.
package aws
