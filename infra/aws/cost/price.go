// Package cost computes the cost of requests. Its tests count the requests of the AWS home, and
// compare the counts with budgets.
package cost

import (
	"strings"

	"southbound/infra/aws/meter"
)

// List prices in us-east-1, in dollars, without free tiers. docs/costs.md has their date and
// source.
const (
	WriteUnit     = 0.625e-6 // DynamoDB on demand: 1 KB, or half of it in a transaction
	ReadUnit      = 0.125e-6 // 4 KB read strongly, or 8 KB eventually
	ObjectWrite   = 5e-6     // S3: PUT, POST, COPY, LIST
	ObjectRead    = 0.4e-6   // S3: GET, HEAD
	QueueRequest  = 0.5e-6   // SQS FIFO; a standard queue costs 0.4e-6
	Invocation    = 0.2e-6   // Lambda
	GigabyteSec   = 13.3334e-6
	LogGigabyte   = 0.5  // CloudWatch Logs, ingested
	ScheduledCall = 1e-6 // EventBridge Scheduler
)

// Usage holds the billable usage.
type Usage struct {
	Counts meter.Counts
	// Polls are the SQS requests that Lambda sends for mappings, at the expense of the account.
	Polls int
	// Invocations of functions, their memory in gigabytes and their time in seconds.
	Invocations int
	GBSeconds   float64
	// LogBytes is the number of bytes written to CloudWatch Logs.
	LogBytes int
}

// Bill is the cost of usage in dollars, by service.
type Bill struct {
	DynamoDB, S3, SQS, Lambda, Logs float64
}

// Total returns the sum.
func (b Bill) Total() float64 { return b.DynamoDB + b.S3 + b.SQS + b.Lambda + b.Logs }

// Of returns the bill of usage. Requests that delete objects, and requests for mappings, are free.
func Of(u Usage) Bill {
	var b Bill
	for name, c := range u.Counts {
		n := float64(c.Calls)
		service, operation, _ := strings.Cut(name, ".")
		switch service {
		case "DynamoDB":
			b.DynamoDB += c.WCU*WriteUnit + c.RCU*ReadUnit
		case "S3":
			switch {
			case strings.HasPrefix(operation, "Delete"):
			case strings.HasPrefix(operation, "Get"), strings.HasPrefix(operation, "Head"):
				b.S3 += n * ObjectRead
			default:
				b.S3 += n * ObjectWrite
			}
		case "SQS":
			b.SQS += n * QueueRequest
		}
	}
	b.SQS += float64(u.Polls) * QueueRequest
	b.Lambda = float64(u.Invocations)*Invocation + u.GBSeconds*GigabyteSec
	b.Logs = float64(u.LogBytes) / (1 << 30) * LogGigabyte
	return b
}
