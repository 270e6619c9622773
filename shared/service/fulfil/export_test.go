package fulfil

import "context"

// Look looks at the resources of all instances, as a worker does every few seconds.
func (w *Worker) Look(ctx context.Context) error { return w.lookAtAll(ctx, w.looks.all) }
