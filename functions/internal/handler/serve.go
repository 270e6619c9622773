package handler

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"southbound/functions/internal/run"
	"southbound/shared/api"
	"southbound/shared/aws/compiles"
	"southbound/shared/aws/emf"
	"southbound/shared/aws/logs"
	"southbound/shared/aws/queue"
	"southbound/shared/aws/worker"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/lang/python"
)

// function is the handler function.
type function struct {
	*run.Function
	server  *worker.Server
	service *api.Service
	worked  *logs.Gatherer
	sets    compiles.Sets
	python  *python.Pack // nil unless this is the Python function
}

func (f *function) prepare() {
	h := f.Home
	f.worked = &logs.Gatherer{Notifier: h.Logs, Clock: h.Engine.Clock, Log: f.Log}
	f.sets.Finder, f.sets.Log = h.OrderFinder(), f.Log
	f.server = &worker.Server{Engine: h.Engine, Notifier: h.Notifier, Clock: h.Engine.Clock,
		Operation: f.operation(), Log: f.Log, Leases: h.State.Leases, Ran: f.ran,
		Exists:  (&worker.Index{State: h.State, Work: h.Engine.AgentsWithWork}).Exists,
		Refused: func() { f.Metrics.Add("MessagesRefused", emf.Count, 1) }}
	f.service = api.New(api.Config{Engine: h.Engine, Agent: h.Config.Packs.Check, Jobs: h.State,
		ByRunner: h.Config.Packs.ByRunner, NotifyRunner: h.NotifyRunner})
}

// operation returns the longest duration of an operation.
func (f *function) operation() time.Duration {
	longest := f.Home.Operation()
	if f.python != nil {
		longest = max(longest, f.Home.Config.Python.Call())
	}
	return longest
}

// confine ends calls of Python with the invocation. The caller calls the result before it answers,
// since Lambda then freezes the function.
func (f *function) confine(ctx context.Context) (end func()) {
	if f.python == nil {
		return func() {}
	}
	deadline, _ := ctx.Deadline()
	f.python.Until(deadline)
	return f.python.Rest
}

// event is an event of the function: messages of a queue, or a job.
type event struct {
	events.SQSEvent
	Job *run.Job `json:"job"`
}

func (f *function) handle(ctx context.Context, raw json.RawMessage) (any, error) {
	var e event
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, fault.Wrap(fault.Invalid, "read event", err)
	}
	defer f.Flush(ctx)
	defer f.confine(ctx)()
	if e.Job != nil {
		return nil, f.work(ctx, *e.Job)
	}
	return f.serve(ctx, e.Records)
}

// work works on a job until the deadline is near. It logs a fault, and does not return it, so that
// Lambda does not retry: the process that waits for the job starts it again.
func (f *function) work(ctx context.Context, job run.Job) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		return run.ErrNoDeadline
	}
	if !state.ValidEnvironment(job.Environment) {
		f.Metrics.Add("MessagesRefused", emf.Count, 1)
		f.Log.ErrorContext(ctx, "job refused: its environment cannot be a name", "job", job.ID)
		return nil
	}
	if err := f.service.Work(ctx, job.Environment, job.ID, f.server.Until(deadline)); err != nil {
		f.Log.ErrorContext(ctx, "a job was not worked on", "environment", job.Environment, "job",
			job.ID, "error", err.Error())
	}
	return nil
}

func (f *function) serve(
	ctx context.Context, records []events.SQSMessage,
) (events.SQSEventResponse, error) {
	out := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	deadline, ok := ctx.Deadline()
	if !ok {
		return out, run.ErrNoDeadline
	}
	if len(records) == 0 {
		return out, nil
	}
	for _, id := range f.server.Serve(ctx, f.messages(records),
		f.queueOf(ctx, records[0].EventSourceARN), deadline) {
		out.BatchItemFailures = append(out.BatchItemFailures,
			events.SQSBatchItemFailure{ItemIdentifier: id})
	}
	f.worked.Flush(ctx)
	f.Metrics.Add("Faults", emf.Count, float64(len(out.BatchItemFailures)))
	return out, nil
}

func (f *function) messages(records []events.SQSMessage) []worker.Message {
	now := time.Now()
	out := make([]worker.Message, len(records))
	for i, r := range records {
		// if the attribute is missing, this counts as the first receive
		receives, _ := strconv.Atoi(r.Attributes["ApproximateReceiveCount"])
		out[i] = worker.Message{ID: r.MessageId, Receipt: r.ReceiptHandle, Body: r.Body,
			Receives: receives}
		if sent, err := strconv.ParseInt(r.Attributes["SentTimestamp"], 10, 64); err == nil {
			f.Metrics.Sample("MessageWait", emf.Milliseconds, float64(now.UnixMilli()-sent))
		}
	}
	return out
}

// queueOf returns the queue of an event by its ARN. If the queue cannot be found, queueOf returns
// nil.
func (f *function) queueOf(ctx context.Context, arn string) *queue.Listener {
	name := arn[strings.LastIndexByte(arn, ':')+1:]
	if name == "" {
		return nil
	}
	url, err := f.Home.QueueURL(ctx, name)
	if err != nil {
		f.Log.WarnContext(ctx, "the queue of an event is not known", "queue", name, "error",
			err.Error())
		return nil
	}
	return &queue.Listener{API: f.Home.SQS, URL: url}
}

// ran counts a run of an agent, and notifies the log and the compile function of its results.
func (f *function) ran(ctx context.Context, r worker.Run) {
	if r.Out.Busy {
		f.Metrics.Add("LanesBusy", emf.Count, 1)
		return
	}
	f.Metrics.Add("LaneRuns", emf.Count, 1)
	f.Metrics.Sample("LaneTime", emf.Milliseconds, float64(r.Took.Milliseconds()))
	f.Log.DebugContext(ctx, "run", "environment", r.Env, "agent", r.Agent, "ran", r.Out.Ran,
		"more", r.Out.More, "waits", r.Out.Waits, "ms", r.Took.Milliseconds())
	if r.Out.Ran > 0 {
		f.worked.Add(ctx, r.Env, r.Agent)
		f.sets.Flush(ctx, r.Env)
	}
}

// metricOf maps outcomes to names of metrics.
var metricOf = map[state.Status]string{state.StatusDeployed: "Deployed",
	state.StatusFailed: "Failed", state.StatusSkipped: "Skipped",
	state.StatusNonCompliant: "NonCompliant", state.StatusUnavailable: "Unavailable",
	state.StatusDeploying: "InProgress"}

// count counts committed actions.
func (f *function) count(outcome state.Status, n int) {
	if name := metricOf[outcome]; name != "" {
		f.Metrics.Add(name, emf.Count, float64(n))
	}
}
